"""A tiny language model learns Donguri in words, with TRL's GRPO: python examples/trl_grpo.py [STEPS]

It is made here: a token is a word or a card, and it has 1.1 million weights. First it imitates the cards of
`pretrained`; then GRPO samples its answers, and TextEnv pays each what its card loses. Both are measured on the same
deals. It is saved in tiny_model, for any server of OpenAI's protocol (docs/language_models.md).
"""

import copy
import sys
from functools import cache

import gymnasium
import numpy as np
import torch
from datasets import Dataset
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

from trick_envs import load_game, make_agent
from trick_envs.agents.llm import recalled
from trick_envs.evaluation.duplicate import evaluate
from trick_envs.interfaces.text import parse_answer, position_text

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
DEALS, PASSES, BATCH, PROMPTS, GROUP = 20 * STEPS, 2, 16, 8, 8
ASKED = " [A]"  # after a question
WORDS = r"</?play>|\[A\]|-?\d\w*|[A-Z]\w*|out|vote|acorns|wildcats|strongest|weakest"  # that it reads and says
torch.manual_seed(1)
torch.set_num_threads(1)
game = load_game("donguri", num_deals=1)


def make_env(kind, **more):
    env = gymnasium.make(f"trick_envs/Donguri{kind}-v0", opponents="pretrained", num_deals=1, **more)
    return env.unwrapped


def positions(deals):
    """Questions in some deals with the answers of `pretrained`, and what it has answered before."""
    env, teacher = make_env(""), make_agent("pretrained", game)
    for seed in range(deals):
        (seen, info), over, before = env.reset(seed=seed), False, []
        while not over:
            mask = info["action_mask"]
            card = int(teacher.act(seen[None], mask[None], env.states)[0])
            answer = f"<play>{game.deck.names[card]}</play>"
            if mask.sum() > 1:
                question = position_text(game, env.states, env.seat, env.history())
                yield {"prompt": question + ASKED, "answer": answer, "seed": seed, "before": list(before)}
            seen, _, over, _, info = env.step(card)
            before.append(answer)


def make_tokenizer(texts):
    """A token is a card, a number or a name: it reads no small words, and nothing before the cards on the table."""
    reads = normalizers.Replace(Regex(r"\A[\s\S]*?\n(?=On the table|You: )"), "")
    split = pre_tokenizers.Split(Regex(WORDS), "removed", invert=True)
    words = {word for text in texts for word, _ in split.pre_tokenize_str(reads.normalize_str(text))}
    names = ["[PAD]", "[END]", "[UNK]", *sorted(words)]
    tokens = Tokenizer(models.WordLevel({name: number for number, name in enumerate(names)}, "[UNK]"))
    tokens.normalizer, tokens.pre_tokenizer = reads, split
    special = {"pad_token": "[PAD]", "eos_token": "[END]", "unk_token": "[UNK]"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokens, padding_side="left", **special)
    tokenizer.chat_template = "{{ (messages | selectattr('role', 'equalto', 'user') | first)['content'] }}" + ASKED
    return tokenizer


def imitate(rows):
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, PASSES * (len(rows) // BATCH + 1), pct_start=0.1)
    texts = [row["prompt"] + row["answer"] + "[END]" for row in rows]
    for number in range(PASSES):
        losses = []
        for part in torch.randperm(len(rows)).split(BATCH):
            given = tokenizer([texts[i] for i in part], padding=True, return_tensors="pt", return_token_type_ids=False)
            labels = given["input_ids"].masked_fill(given["attention_mask"] == 0, -100)[:, 1:]
            each = torch.nn.functional.cross_entropy(model(**given).logits[:, :-1].mT, labels, reduction="none")
            optimizer.zero_grad()
            (each[:, -3:].mean() + each.mean()).backward()  # the answer, and the text: it learns to read by it
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(each[:, -3].mean().item())
        print(f"imitation {number + 1}: {np.mean(losses):.3f} nats a card", flush=True)


def reward(prompts, completions, seed, before, **_):
    return [paid(*row) for row in zip(seed, map(tuple, before), completions, strict=True)]


@cache
def paid(seed, before, answer):
    """Minus the points that an answer loses; an illegal one loses most."""
    judge.reset(seed=seed)
    for card in before:
        judge.step(card)
    _, loss, _, _, info = judge.step(answer)
    return max(loss, -5.0) if info["played"] else -10.0


class Reader:
    """The model as a player, many questions at a time; what it may not play is a random card."""

    observation = "history"

    def __init__(self, name, model):
        self.name, self.model = name, model
        self.seed(0)
        self.asked = self.bad = 0

    def seed(self, seed):
        self.chance = np.random.default_rng(seed)

    def act(self, observations, action_masks, states=None, plays=None):
        cards = action_masks.argmax(1).astype(np.int64)
        rows = np.flatnonzero(np.count_nonzero(action_masks, 1) > 1)
        for part in np.array_split(rows, len(rows) // 256 + 1) if len(rows) else []:
            owns = [(states[i : i + 1], plays[i]) for i in part]
            texts = [position_text(game, own, None, recalled(game, own, seen)) + ASKED for own, seen in owns]
            given = tokenizer(texts, padding=True, return_tensors="pt", return_token_type_ids=False)
            found = self.model.generate(**given, max_new_tokens=4, do_sample=False)[:, given["input_ids"].shape[1] :]
            for i, answer in zip(part, tokenizer.batch_decode(found, skip_special_tokens=True), strict=True):
                legal = [game.deck.names[kind] for kind in np.flatnonzero(action_masks[i])]
                card = parse_answer(answer, legal, game.deck).card
                self.asked, self.bad = self.asked + 1, self.bad + (card is None)
                cards[i] = game.deck.names.index(card or self.chance.choice(legal))
        return cards


rows = list(positions(DEALS))
tokenizer = make_tokenizer([row["prompt"] + row["answer"] for row in rows])
config = LlamaConfig(
    vocab_size=len(tokenizer), hidden_size=128, intermediate_size=384, num_hidden_layers=5, num_attention_heads=4,
    max_position_embeddings=512, tie_word_embeddings=True, initializer_range=0.08, pad_token_id=0, eos_token_id=1,
)  # fmt: skip
model = LlamaForCausalLM(config)
imitate(rows)
imitated = copy.deepcopy(model).eval()
judge = make_env("-text", bad_answers="terminate", loss="pretrained+rollout:8")
settings = GRPOConfig(
    "grpo", max_steps=STEPS, per_device_train_batch_size=PROMPTS * GROUP, num_generations=GROUP, learning_rate=1e-4,
    max_completion_length=4, use_cpu=True, report_to="none", save_strategy="no", logging_steps=10, bf16=False,
    disable_tqdm=True, seed=1,
)  # fmt: skip
GRPOTrainer(model, reward, settings, Dataset.from_list(rows), processing_class=tokenizer).train()
model.save_pretrained("tiny_model")
tokenizer.save_pretrained("tiny_model")
legal, results = {}, {}
with torch.no_grad():
    for name, other in [("imitation", "random"), ("GRPO", "random"), ("imitation", "greedy"), ("GRPO", "greedy")]:
        reader = Reader(name, {"imitation": imitated, "GRPO": model.eval()}[name])
        results[name, other] = evaluate(game, reader, make_agent(other, game), deals=60 if STEPS > 5 else 3)
        legal[name] = 1 - reader.bad / reader.asked
        print(f"{legal[name]:.1%} of {reader.asked:,} answers legal; {results[name, other]}", flush=True)
