"use strict";
// The list of questions. All data is untrusted: it is set as text, never as HTML.
(async () => {
  const PAGE = 50; // questions listed at once
  const list = document.getElementById("list");
  const status = document.getElementById("status");
  const more = document.getElementById("more");
  const search = document.getElementById("search");

  async function unpack(id) {
    const packed = atob(document.getElementById(id).textContent);
    const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  }

  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return element;
  }
  const counted = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
  const items = (value) => (Array.isArray(value) ? value.filter((one) => one && typeof one === "object") : []);
  const said = (name, kind, text) => make(name, { class: `text ${kind}`, dir: "auto" }, String(text));
  const folded = (title, ...children) => make("details", {}, make("summary", {}, title), ...children);

  if (typeof DecompressionStream === "undefined") {
    status.textContent = "This browser cannot show the questions because it lacks DecompressionStream.";
    return;
  }
  const index = await unpack("index");
  const { members, groups } = index;
  const questions = index.questions.map(([id, text, gold, inside, marks, answers], at) => (
    { at, number: index.numbers[at], id, text, gold, inside: new Set(inside), marks, answers }));

  const KINDS = { right: "✓", partly: "◐", wrong: "✗", unanswered: "–", failed: "!", undefined: "?", absent: "·" };
  function kind(mark) {
    if (mark === null) return "absent";
    if (typeof mark === "string") return mark;
    return mark >= 1 ? "right" : mark > 0 ? "partly" : "wrong";
  }

  // -- search

  let haystacks = null; // built by the first search
  function texts(question) {
    return [question.id, question.text, ...question.gold, ...question.answers].join("\n").toLowerCase();
  }
  const TESTS = {
    all: () => true,
    disagree: (kinds) => kinds.includes("right") && kinds.some((one) => one !== "right" && one !== "undefined"),
    right: (kinds) => kinds.length && kinds.every((one) => one === "right"),
    wrong: (kinds) => kinds.length && kinds.every((one) => one === "wrong" || one === "failed"),
    unanswered: (kinds) => kinds.length && kinds.every((one) => one === "unanswered"),
    failed: (kinds) => kinds.includes("failed"),
  };
  const chosen = (id) => document.getElementById(id).value;
  function find() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const number = /^#(\d+)$/.exec(search.value.trim());
    const [test, group, right, wrong] = [TESTS[chosen("which")], chosen("group"), chosen("right"), chosen("wrong")];
    if (words.length && !number) haystacks ??= questions.map(texts);
    return questions.filter((question) => {
      if (number) return question.number === Number(number[1]);
      const kinds = question.marks.map(kind);
      return test(kinds.filter((one) => one !== "absent"))
        && (group === "" || question.inside.has(Number(group)))
        && (right === "" || kinds[right] === "right")
        && (wrong === "" || kinds[wrong] === "wrong")
        && words.every((word) => haystacks[question.at].includes(word));
    });
  }

  // -- list

  let found = [];
  let shown = 0;
  function refresh() {
    found = find();
    shown = 0;
    list.replaceChildren();
    extend();
  }
  function extend() {
    const next = found.slice(shown, shown + PAGE).map(row);
    list.append(...next);
    shown += next.length;
    status.textContent = `${found.length.toLocaleString("en")} of ${counted(questions.length, "question")}`
      + (shown < found.length ? `, showing the first ${shown.toLocaleString("en")}` : "");
    more.hidden = shown >= found.length;
    return next[0];
  }
  function row(question) {
    const marks = make("span", { class: "marks" }, ...question.marks.map((mark, n) => {
      const what = kind(mark);
      const value = typeof mark === "number" ? ` (${mark})` : "";
      const one = make("span", { class: `mark ${what}`, title: `${members[n]}: ${what}${value}` },
        make("span", { class: "hidden" }, `${members[n]} `), KINDS[what] ?? "?",
        make("span", { class: "hidden" }, ` ${what}. `));
      return one;
    }));
    const title = make("span", {}, make("span", { class: "number" }, `#${question.number}`),
      make("bdi", { dir: "auto" }, question.text));
    const details = make("details", { id: `q${question.number}` }, make("summary", {}, title, marks));
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 1) open(question, details);
    });
    return make("li", {}, details);
  }

  // -- one question

  const chunks = new Map();
  function chunk(number) {
    if (!chunks.has(number)) {
      if (chunks.size > 20) chunks.delete(chunks.keys().next().value);
      chunks.set(number, unpack(`chunk${number}`));
    }
    return chunks.get(number);
  }
  const of = (given) => given.runs && ` (${given.runs})`;
  async function open(question, details) {
    const body = make("div", { class: "opened" }, said("p", "faint", "…"));
    details.append(body);
    const data = (await chunk(Math.floor(question.at / index.chunk)))[question.at % index.chunk];
    const where = [...question.inside].map((n) => groups[n]);
    const gold = question.gold.length ? question.gold.join("; ") : "none";
    body.replaceChildren(
      make("dl", {}, make("dt", {}, "Expected"), said("dd", "", gold),
        ...data.given.filter((one) => one.fake).flatMap((one) =>
          [make("dt", {}, `Planted answer${of(one)}`), said("dd", "", one.fake)]),
        ...(question.id ? [make("dt", {}, "Id"), said("dd", "", question.id)] : []),
        ...(where.length ? [make("dt", {}, "Groups"), said("dd", "", where.join(" · "))] : [])),
      make("div", { class: "cards" }, ...members.map((name, n) => card(name, question.marks[n], data.answers[n]))),
      ...data.given.filter((one) => one.passages.length).map((one) =>
        folded(`${counted(one.passages.length, "passage")} given${of(one)}`, make("ol", { class: "steps" },
          ...one.passages.map((passage) => make("li", {},
            passage.planted ? make("span", { class: "planted" }, "planted") : null,
            said("strong", "", passage.title), said("p", "", passage.text), said("span", "faint", passage.source)))))),
    );
  }
  function card(name, mark, answer) {
    const what = kind(mark);
    const head = make("h3", {}, make("span", { class: what }, `${KINDS[what] ?? "?"} `),
      make("bdi", {}, name), make("span", { class: "hidden" }, `: ${what}`));
    if (!answer) return make("article", {}, head, said("p", "faint", "Not answered in this run."));
    if (answer.error) {
      const error = typeof answer.error === "object" ? answer.error : { message: answer.error };
      return make("article", {}, head, said("p", "wrong", `${error.type ?? "Error"}: ${error.message ?? ""}`),
        error.hint ? said("p", "faint", error.hint) : null);
    }
    const [conflicts, trace] = [items(answer.conflicts), items(answer.trace)];
    return make("article", {}, head,
      answer.answer === null || answer.answer === undefined
        ? said("p", "faint", answer.probable ? `${answer.probable}, which does not count as an answer.` : "No answer.") : said("p", "answer", answer.answer),
      answer.reason ? said("p", "", answer.reason) : null,
      make("div", {}, ...items(answer.citations).map(citation)),
      conflicts.length ? folded("Conflicts", make("ul", { class: "plain" }, ...conflicts.map(position))) : null,
      figures(answer),
      trace.length
        ? folded(`Trace, ${counted(trace.length, "step")}`, make("ol", { class: "steps" }, ...trace.map(step))) : null);
  }
  function citation(one) {
    const source = [one.title, one.origin === "memory" ? "the model's memory" : one.source].filter(Boolean).join(" · ");
    return make("blockquote", { dir: "auto" }, one.quote ?? "", make("div", { class: "faint" }, source || one.id || ""));
  }
  function position(one) {
    const sure = typeof one.confidence === "number" ? ` (${Math.round(100 * one.confidence)} %)` : "";
    return make("li", {}, said("span", "", `${one.chosen ? "● " : "○ "}${one.text}${sure}`),
      ...items(one.citations).map(citation));
  }
  function figures(answer) {
    const rows = Object.entries(answer.scores).map(([name, value]) => [name,
      value.toLocaleString("en", Number.isInteger(value) ? {} : { maximumSignificantDigits: 4 })]);
    if (typeof answer.confidence === "number") rows.push(["confidence", answer.confidence.toFixed(2)]);
    if (answer.usage) rows.push(["tokens in + out", `${answer.usage.prompt_tokens} + ${answer.usage.completion_tokens}`]);
    if (!("seconds" in answer.scores) && typeof answer.seconds === "number") rows.push(["seconds", answer.seconds.toFixed(2)]);
    return folded("Figures", make("dl", {},
      ...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])));
  }
  function step(one) {
    const cost = [`${(one.seconds ?? 0).toFixed(2)} s`];
    if (one.usage?.calls) cost.unshift(`${one.usage.prompt_tokens} + ${one.usage.completion_tokens} tokens`);
    if (one.cached) cost.push("cached");
    if (one.retries) cost.push(`${one.retries} retries`);
    const parts = Object.entries(one.data ?? {}).filter(([, value]) => value !== null && value !== "");
    return make("li", {},
      make("strong", {}, one.kind === "note" ? "→ " : `${one.kind} `),
      said("span", "", [one.component, one.what].filter(Boolean).join(": ")),
      one.kind === "note" ? null : make("span", { class: "faint" }, ` ${cost.join(" · ")}`),
      one.error ? said("p", "wrong", one.error) : null,
      ...parts.map(([key, value]) => make("pre", { dir: "auto" },
        `${key}: ${typeof value === "string" ? value : JSON.stringify(value, null, 1)}`)));
  }

  // -- controls

  function options(id, names, first) {
    document.getElementById(id).replaceChildren(make("option", { value: "" }, first),
      ...names.map((name, n) => make("option", { value: n }, name)));
  }
  options("group", groups, "all");
  options("right", members, "any");
  options("wrong", members, "any");
  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 120);
  });
  for (const id of ["which", "group", "right", "wrong"]) document.getElementById(id).addEventListener("change", refresh);
  more.addEventListener("click", () => extend()?.querySelector("summary").focus());
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.closest("input, select, textarea")) {
      event.preventDefault();
      search.focus();
    }
  });
  function follow() { // #q12 opens question 12
    const named = /^#q(\d+)$/.exec(location.hash);
    if (!named) return refresh();
    search.value = `#${named[1]}`;
    refresh();
    const details = document.getElementById(`q${named[1]}`);
    if (details) { details.open = true; details.scrollIntoView(); }
  }
  addEventListener("hashchange", follow);
  document.getElementById("controls").hidden = false;
  document.getElementById("legend").textContent = `✓ right, ◐ partly, ✗ wrong, – no answer, ! failed, ? not scored, · not asked. Order: ${members.join(", ")}. ${index.left}`;
  follow();
})().catch((error) => {
  document.getElementById("status").textContent = `Cannot show the questions: ${error.message}`;
});
