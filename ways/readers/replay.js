"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const SPEEDS = [0.5, 1, 2, 4, 8, 16];
  const FRAME_MS = 800;
  const SHOWN = new Set(["fired", "again", "pulled", "check", "blocked", "would block"]);
  const state = { session: 0, frame: 0, speed: 1, timer: 0 };
  let parts = {};

  // Making elements. Texts are only ever set as textContent.
  const element = (name, options = {}, ...children) => {
    const made = document.createElement(name);
    if (options.class) made.className = options.class;
    if (options.text !== undefined) made.textContent = options.text;
    if (options.title) made.title = options.title;
    made.append(...children);
    return made;
  };
  const shape = (name, attributes, text) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const number = (value) => Math.round(value).toLocaleString("en-US");
  const clock = (ts) => ts.slice(11, 19);
  const style = (kind) => kind.replace(" ", "-");
  const lane = (trigger) => trigger.replace(/^semantic:/, "");
  const session = () => data.sessions[state.session];
  const text = (index) => session().texts[index];
  const money = (value) => "$" + value.toFixed(value >= 1 ? 2 : 5);

  function table(columns, rows, onRow) {
    const head = element("tr");
    for (const column of columns) head.append(element("th", { text: column.name, class: column.class || "" }));
    const body = element("tbody");
    rows.forEach((row, place) => {
      const line = element("tr", { class: onRow ? "jump" : "" });
      row.cells.forEach((cell, at) => {
        const names = [columns[at].class || "", (row.classes || [])[at] || ""].join(" ").trim();
        line.append(element("td", { text: cell, class: names }));
      });
      if (onRow) line.addEventListener("click", () => onRow(place));
      body.append(line);
    });
    return element("table", {}, element("thead", {}, head), body);
  }

  function build() {
    const app = document.getElementById("app");
    app.replaceChildren();
    parts = {};
    const current = session();
    const chooser = element("select", { title: "Session" });
    data.sessions.forEach((one, index) => {
      const option = element("option", { text: `${one.last.slice(0, 16).replace("T", " ")}  ${one.session}  ${one.project}` });
      option.value = String(index);
      chooser.append(option);
    });
    chooser.value = String(state.session);
    chooser.addEventListener("change", () => open(Number(chooser.value)));
    const about = [current.project, current.model, current.agents.length + (current.agents.length === 1 ? " agent" : " agents")];
    app.append(
      element("h1", { text: `Session ${current.session}` }),
      element("div", { class: "soft", text: about.filter(Boolean).join("  ·  ") }),
    );
    if (data.sessions.length > 1) app.append(element("div", { class: "row" }, chooser));
    if (current.left_out) app.append(element("p", { class: "soft", text: `${number(current.left_out)} earlier moments are left out.` }));
    if (!current.frames.length) {
      app.append(element("p", { text: "The log has no event of this session." }));
      return;
    }
    app.append(controls(), moment(), charts());
  }

  function controls() {
    const button = (label, title, action) => {
      const made = element("button", { text: label, title });
      made.addEventListener("click", action);
      return made;
    };
    parts.play = button("Play", "Space", toggle);
    parts.speed = element("select", { title: "Speed: + and -" });
    for (const speed of SPEEDS) {
      const option = element("option", { text: `${speed}×` });
      option.value = String(speed);
      parts.speed.append(option);
    }
    parts.speed.value = String(state.speed);
    parts.speed.addEventListener("change", () => setSpeed(Number(parts.speed.value)));
    parts.range = element("input", { title: "Moment" });
    parts.range.type = "range";
    parts.range.min = "0";
    parts.range.max = String(session().frames.length - 1);
    parts.range.addEventListener("input", () => { pause(); show(Number(parts.range.value)); });
    parts.where = element("span", { class: "mono" });
    parts.gauge = element("div", { class: "gauge" }, element("div"));
    parts.tokens = element("span", { class: "mono soft" });
    parts.track = track();
    return element("div", { class: "sticky" },
      element("div", { class: "row" },
        button("«", "Previous way: p", () => next(-1)), button("‹", "Left arrow", () => step(-1)), parts.play,
        button("›", "Right arrow", () => step(1)), button("»", "Next way: n", () => next(1)), parts.speed, parts.where),
      parts.track, parts.range,
      element("div", { class: "row" }, parts.gauge, parts.tokens));
  }

  function track() {
    const frames = session().frames;
    const made = shape("svg", { class: "track", viewBox: "0 0 1000 34", preserveAspectRatio: "none" });
    frames.forEach((frame, index) => {
      const kinds = frame.lines.map((line) => text(line[0]));
      const kind = ["blocked", "would block", "fired", "again", "pulled", "check", "trouble", "start"].find((one) => kinds.includes(one));
      const x = (index + 0.5) * 1000 / frames.length;
      const width = Math.max(0.8, Math.min(6, 800 / frames.length));
      const tall = SHOWN.has(kind) ? 26 : kind ? 16 : 7;
      made.append(shape("rect", { x: x - width / 2, y: 32 - tall, width, height: tall, class: style(kind || "other") }));
    });
    parts.cursor = shape("line", { y1: 0, y2: 34, class: "cursor", "vector-effect": "non-scaling-stroke" });
    made.append(parts.cursor);
    made.addEventListener("click", (event) => {
      const box = made.getBoundingClientRect();
      pause();
      show(Math.floor((event.clientX - box.left) / box.width * frames.length));
    });
    return made;
  }

  function moment() {
    parts.active = element("div", { class: "scroll" });
    parts.lines = element("div", { class: "scroll" });
    return element("div", {},
      element("h2", { text: "What happened at this moment" }), parts.lines,
      element("h2", { text: "Ways in the context of this agent" }), parts.active);
  }

  function charts() {
    const current = session();
    const made = element("div");
    made.append(element("h2", { text: `Context in use (window ${number(current.window)} tokens, ${current.window_source})` }), tokenChart());
    made.append(element("h2", { text: "Spend of the judge" }), spend());
    made.append(element("h2", { text: "Fires" }), fires());
    const grid = element("div", { class: "columns" });
    for (const [title, rows] of Object.entries(current.bars)) if (rows.length) grid.append(bars(title, rows));
    made.append(grid);
    return made;
  }

  function chart(points, top, limit, label) {
    const made = shape("svg", { class: "chart", viewBox: "0 0 1000 170", preserveAspectRatio: "none" });
    const from = points[0][0];
    const span = Math.max(1e-9, points[points.length - 1][0] - from);
    const x = (at) => 4 + (at - from) / span * 992;
    const y = (value) => 162 - value / top * 148;
    made.append(shape("polyline", { class: "line", points: points.map(([at, value]) => `${x(at).toFixed(2)},${y(value).toFixed(2)}`).join(" ") }));
    if (limit) made.append(shape("line", { class: "limit", x1: 0, x2: 1000, y1: y(limit), y2: y(limit) }));
    return { box: element("div", {}, made, element("div", { class: "soft", text: label })), made, x };
  }

  function tokenChart() {
    const current = session();
    const samples = current.tokens.length > 1 ? current.tokens
      : current.frames.filter((frame) => text(frame.agent) === "main").map((frame) => [frame.at, frame.position]);
    if (samples.length < 2) return element("p", { class: "soft", text: "Too little is on record for a chart." });
    const most = Math.max(...samples.map((sample) => sample[1]), 1);
    const near = most > current.window * 0.5;
    const source = current.tokens.length > 1 ? "From the transcript" : "From the log";
    const drawn = chart(samples, near ? Math.max(most, current.window) : most, near ? current.window : 0,
      `${source}. Highest: ${number(most)} tokens.${near ? " The dashed line is the window." : ""}`);
    parts.tokenCursor = shape("line", { y1: 0, y2: 170, class: "cursor", "vector-effect": "non-scaling-stroke" });
    drawn.made.append(parts.tokenCursor);
    parts.tokenX = drawn.x;
    return drawn.box;
  }

  function spend() {
    const calls = session().calls;
    if (!calls.length) return element("p", { class: "soft", text: "The judge was not asked in this session." });
    let sum = 0;
    const points = calls.map((call, index) => [index, (sum += call.cost_usd || 0)]);
    const unknown = calls.filter((call) => call.cost_usd === null).length;
    const tokens = calls.reduce((total, call) => total + call.tokens_in + call.tokens_out, 0);
    const label = `${number(calls.length)} calls, ${number(tokens)} tokens, ${money(sum)}` + (unknown ? `; ${unknown} of unknown cost` : "");
    if (points.length < 2 || sum === 0) return element("p", { text: label });
    return chart(points, sum, 0, label).box;
  }

  function fires() {
    const columns = [{ name: "Time", class: "nowrap" }, { name: "" }, { name: "Way", class: "nowrap" }, { name: "Agent", class: "nowrap" }, { name: "Trigger" },
      { name: "Tokens", class: "number" }, { name: "What" }];
    const rows = [];
    const indexes = [];
    session().frames.forEach((frame, index) => {
      for (const [kind, way, trigger, detail] of frame.lines) {
        if (!SHOWN.has(text(kind))) continue;
        indexes.push(index);
        rows.push({ cells: [clock(frame.ts), data.marks[text(kind)], text(way), text(frame.agent), lane(text(trigger)), number(frame.position), text(detail)],
          classes: ["", style(text(kind))] });
      }
    });
    if (!rows.length) return element("p", { class: "soft", text: "Nothing was shown in this session." });
    return element("div", { class: "tall" }, table(columns, rows, (place) => { pause(); show(indexes[place]); window.scrollTo(0, 0); }));
  }

  function bars(title, rows) {
    const made = element("div", { class: "bars" });
    const most = Math.max(...rows.map((row) => row[1]));
    for (const [name, count] of rows) {
      const bar = element("div", { class: "bar" });
      bar.style.width = `${100 * count / most}%`;
      made.append(element("div", { class: "name", text: name, title: name }), bar, element("div", { class: "mono", text: number(count) }));
    }
    return element("div", {}, element("h2", { text: title }), made);
  }

  function show(index) {
    const frames = session().frames;
    if (!frames.length) return;
    state.frame = Math.max(0, Math.min(frames.length - 1, index));
    const frame = frames[state.frame];
    const about = session().exact_epochs ? "" : "~";
    parts.range.value = String(state.frame);
    const x = (state.frame + 0.5) * 1000 / frames.length;
    parts.cursor.setAttribute("x1", x);
    parts.cursor.setAttribute("x2", x);
    if (parts.tokenCursor) {
      parts.tokenCursor.setAttribute("x1", parts.tokenX(frame.at));
      parts.tokenCursor.setAttribute("x2", parts.tokenX(frame.at));
    }
    parts.where.textContent = `${state.frame + 1} of ${frames.length}   ${frame.ts.slice(0, 19).replace("T", " ")} UTC   `
      + `${text(frame.agent)}   ${text(frame.hook)}   epoch ${about}${frame.epoch}`;
    const part = frame.window ? frame.position / frame.window : 0;
    parts.gauge.className = "gauge" + (part >= 0.9 ? " full" : part >= 0.7 ? " warm" : "");
    parts.gauge.firstChild.style.width = `${Math.min(100, part * 100)}%`;
    parts.tokens.textContent = `${number(frame.position)} of ${number(frame.window)} tokens (${Math.round(part * 100)} %)`;
    parts.lines.replaceChildren(table(
      [{ name: "" }, { name: "Way" }, { name: "Trigger" }, { name: "What" }],
      frame.lines.map(([kind, way, trigger, detail]) => ({
        cells: [data.marks[text(kind)], text(way), lane(text(trigger)), text(detail)], classes: [style(text(kind)), style(text(kind))] }))));
    const numbers = "number";
    parts.active.replaceChildren(frame.active.length ? table(
      [{ name: "Way" }, { name: "May show again", class: "nowrap" }, { name: "Distance", class: numbers }, { name: "Epoch", class: numbers },
        { name: "Trigger" }, { name: "Times", class: numbers }],
      frame.active.map(([way, trigger, epoch, distance, times, forecast, due]) => ({
        cells: [text(way), text(forecast), about + distance, about + epoch, lane(text(trigger)), `${times}×`], classes: ["", due ? "due" : ""] })))
      : element("p", { class: "soft", text: "None yet." }));
  }

  function tick() {
    if (state.frame >= session().frames.length - 1) { pause(); return; }
    show(state.frame + 1);
  }

  function toggle() {
    if (state.timer) { pause(); return; }
    if (!session().frames.length) return;
    if (state.frame >= session().frames.length - 1) show(0);
    state.timer = window.setInterval(tick, FRAME_MS / state.speed);
    parts.play.textContent = "Pause";
  }

  function pause() {
    window.clearInterval(state.timer);
    state.timer = 0;
    if (parts.play) parts.play.textContent = "Play";
  }

  function setSpeed(speed) {
    state.speed = speed;
    parts.speed.value = String(speed);
    if (state.timer) { pause(); toggle(); }
  }

  function step(by) { pause(); show(state.frame + by); }

  function next(direction) {
    pause();
    const frames = session().frames;
    for (let index = state.frame + direction; index >= 0 && index < frames.length; index += direction) {
      if (frames[index].lines.some((line) => SHOWN.has(text(line[0])))) { show(index); return; }
    }
  }

  function open(index) {
    pause();
    state.session = index;
    build();
    show(session().frames.length - 1);
  }

  document.addEventListener("keydown", (event) => {
    if (event.target instanceof HTMLSelectElement || event.ctrlKey || event.metaKey || event.altKey) return;
    const speed = SPEEDS.indexOf(state.speed);
    const keys = {
      " ": toggle, ArrowLeft: () => step(event.shiftKey ? -10 : -1), ArrowRight: () => step(event.shiftKey ? 10 : 1),
      Home: () => step(-Infinity), End: () => step(Infinity), n: () => next(1), p: () => next(-1),
      "+": () => setSpeed(SPEEDS[Math.min(SPEEDS.length - 1, speed + 1)]), "-": () => setSpeed(SPEEDS[Math.max(0, speed - 1)]),
    };
    if (session().frames.length && keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });

  open(0);
})();
