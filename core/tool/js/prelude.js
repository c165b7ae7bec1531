// Runs before the code, in the child, and returns [settle, state]. It keeps the functions of the language
// that it uses, so that code which changes them deceives only itself.
(() => {
  "use strict";
  const call = globalThis.__call, print = globalThis.__print;
  const { most, names } = JSON.parse(globalThis.__start());
  delete globalThis.__call;
  delete globalThis.__print;
  delete globalThis.__start;
  const { parse, stringify } = JSON;
  const { Error, Proxy, Promise, RangeError, String, TypeError } = globalThis;
  const resolve = Promise.resolve.bind(Promise), then = Promise.prototype.then;
  const apply = Reflect.apply, slice = String.prototype.slice, has = Array.prototype.includes;
  const cut = (s) => (s.length > most ? apply(slice, s, [0, most]) + "\n[cut here]" : s);

  const show = (v) => {
    try {
      if (v === undefined) return "";
      if (typeof v === "string") return cut(v);
      if (typeof v !== "object") return cut(String(v));
      return cut(stringify(v) ?? String(v));
    } catch {
      try {
        return cut(String(v));
      } catch {
        return "[a value that has no text]";
      }
    }
  };

  const explain = (e) => {
    try {
      if (!(e instanceof Error)) return show(e);
      const of = typeof e.tool === "string" ? ` (${show(e.tool)})` : "";
      const stack = typeof e.stack === "string" ? "\n" + show(e.stack) : "";
      return cut(`${show(e.name)}: ${show(e.message)}${of}${stack}`);
    } catch {
      return "[an error that has no text]";
    }
  };

  const invoke = (name, args) => {
    const text = args === undefined ? "{}" : stringify(args);
    if (typeof text !== "string") throw new TypeError("the arguments of a tool must be an object");
    if (text.length > MAX_ARGUMENTS) throw new RangeError("the arguments of a tool are too long");
    const reply = parse(call(name, text));
    if (reply.error !== undefined) {
      const e = new Error(reply.error);
      e.tool = name;
      throw e;
    }
    return reply.value !== undefined ? reply.value : reply.text ?? "";
  };

  const silent = (p) => typeof p !== "string" || p === "then" || p === "toJSON";
  const member = (name) =>
    new Proxy(() => {}, {
      apply: (_, __, args) => invoke(name, args[0]),
      get: (_, p) => (silent(p) ? undefined : member(name + "__" + p)),
    });
  const known = (p) => apply(has, names, [p]);
  const tools = new Proxy({}, {
    get: (_, p) => (silent(p) ? undefined : member(p)),
    has: (_, p) => known(p),
    ownKeys: () => names,
    getOwnPropertyDescriptor: (_, p) => (known(p) ? { value: member(p), enumerable: true, configurable: true } : undefined),
  });
  const line = (...args) => {
    let s = "";
    for (let i = 0; i < args.length && s.length <= most; i++) s += (i ? " " : "") + show(args[i]);
    print(cut(s));
  };
  const console = { log: line, info: line, warn: line, error: line, debug: line };
  for (const [name, value] of [["tools", tools], ["console", console]])
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });

  let ended;
  return [
    (v, wrapped) => apply(then, wrapped ? apply(then, resolve(v), [(x) => x.value]) : resolve(v), [
      (x) => { ended = { value: show(x) }; },
      (e) => { ended = { error: explain(e) }; },
    ]),
    () => (ended === undefined ? "" : stringify(ended)),
  ];
})();
