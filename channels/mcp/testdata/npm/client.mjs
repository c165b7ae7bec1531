// Plays cases with an official client: node client.mjs sdk|client legacy|auto < cases.json > results.json.
// A case is {url, token, asks, calls: [{text, answers}]}; each answer is given to one elicitation, "fail" throws.
import { readFileSync } from "node:fs";

const [library, era] = process.argv.slice(2);
const { Client, StreamableHTTPClientTransport, elicitation } = await load();

async function load() {
  if (library === "client") {
    const all = await import("@modelcontextprotocol/client");
    return { ...all, elicitation: "elicitation/create" };
  }
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
  return { Client, StreamableHTTPClientTransport, elicitation: ElicitRequestSchema };
}

async function open(c, options, answer) {
  const capabilities = c.asks === false ? {} : { elicitation: { form: {}, url: {} } };
  const negotiate = library === "client" ? { versionNegotiation: { mode: era } } : {};
  const client = new Client({ name: "official", version: "1" }, { capabilities, ...negotiate, ...options });
  if (c.asks !== false) client.setRequestHandler(elicitation, answer);
  const headers = { Authorization: `Bearer ${c.token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(c.url), { requestInit: { headers } }));
  return client;
}

async function play(c) {
  const out = { asked: [], results: [] };
  let answers = [];
  const client = await open(c, {}, async (request) => {
    out.asked.push(request.params);
    const next = answers.shift();
    if (next === undefined || next === "fail") throw new Error("nobody is there");
    return next;
  });
  out.protocol = client.getNegotiatedProtocolVersion?.() ?? client.transport.protocolVersion ?? "";
  out.server = client.getServerVersion()?.name ?? "";
  out.tools = (await client.listTools()).tools.map((t) => t.name);
  for (const call of c.calls) {
    answers = [...call.answers];
    try {
      out.results.push(await client.callTool({ name: "send_message", arguments: { text: call.text } }));
    } catch (e) {
      out.results.push({ failed: String(e) });
    }
  }
  await client.close();
  return out;
}

// rounds makes the rounds of one call itself: it hands back what was tampered with, and then, as another client, what was not.
async function rounds(c) {
  const out = { asked: [], results: [] };
  const manual = { inputRequired: { autoFulfill: false } };
  const never = async () => { throw new Error("it is not asked"); };
  const params = { name: "send_message", arguments: { text: c.calls[0].text } };
  const first = await open(c, manual, never);
  const asks = await first.callTool(params, { allowInputRequired: true });
  await first.close();
  out.asked = Object.values(asks.inputRequests).map((r) => r.params);
  const inputResponses = Object.fromEntries(Object.keys(asks.inputRequests).map((id) => [id, c.calls[0].answers[0]]));
  const second = await open(c, manual, never);
  for (const requestState of ["x" + asks.requestState, asks.requestState]) {
    out.results.push(await second.callTool({ ...params, inputResponses, requestState }, { allowInputRequired: true }));
  }
  await second.close();
  return out;
}

const results = [];
for (const c of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    results.push(await (c.manual ? rounds(c) : play(c)));
  } catch (e) {
    results.push({ failed: String(e?.stack ?? e) });
  }
}
process.stdout.write(JSON.stringify(results));
