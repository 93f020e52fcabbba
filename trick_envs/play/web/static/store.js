// What the browser remembers for this page; where it may remember nothing (cookies are refused), what the page does.

function store(name) {
  try {
    const found = window[name];
    found.getItem("");
    return found;
  } catch {
    const kept = new Map();
    return {
      getItem: (key) => kept.get(key) ?? null,
      setItem: (key, value) => void kept.set(key, value),
      removeItem: (key) => void kept.delete(key),
    };
  }
}

export const local = store("localStorage");
export const session = store("sessionStorage"); // of this tab
