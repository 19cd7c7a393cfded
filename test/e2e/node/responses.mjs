// Checks the Responses API with OpenAI's Node SDK. sdk.mjs checks the other operations.
import assert from 'node:assert/strict';
import OpenAI from 'openai';

const schema = { type: 'object', properties: { yes: { type: 'boolean' } }, required: ['yes'], additionalProperties: false };
const format = { type: 'json_schema', name: 'answer', strict: true, schema };

export async function responses(client, check, raised) {
  await check('response', async () => {
    const answer = await client.responses.create({ model: 'chat', input: 'Say hello.', max_output_tokens: 5, ignore_eos: true });
    assert(answer.id.startsWith('resp_') && answer.output_text);
    assert.deepEqual([answer.status, answer.incomplete_details.reason], ['incomplete', 'max_output_tokens']);
    assert.equal(answer.usage.output_tokens, 5);
  });
  await check('stream of events', async () => {
    const kinds = [];
    let text = '';
    let last;
    for await (const event of await client.responses.create({ model: 'chat', input: 'Say hello.', max_output_tokens: 12, ignore_eos: true, stream: true })) {
      assert.equal(event.sequence_number, kinds.length);
      kinds.push(event.type);
      if (event.type === 'response.output_text.delta') text += event.delta;
      last = event;
    }
    assert.equal(kinds[0], 'response.created');
    assert.equal(last.type, 'response.incomplete');
    assert.equal(last.response.output[0].content[0].text, text);
  });
  await check('stream with the SDK\'s stream helper', async () => {
    const stream = client.responses.stream({ model: 'chat', input: 'Is water wet?', text: { format } });
    let pieces = '';
    stream.on('response.output_text.delta', (event) => { pieces += event.delta; });
    const final = await stream.finalResponse();
    assert.equal(final.output_text, pieces);
    assert.equal(typeof JSON.parse(pieces).yes, 'boolean');
  });
  await check('parsed response', async () => {
    const answer = await client.responses.parse({ model: 'chat', input: 'Is water wet?', max_output_tokens: 40, text: { format } });
    assert.equal(typeof answer.output_parsed.yes, 'boolean');
  });
  await check('forced call, output of the call, and answer', async () => {
    const tools = [{ type: 'function', name: 'answer', strict: true, parameters: schema }];
    const forced = await client.responses.create({ model: 'chat', input: 'Is water wet?', tools, tool_choice: 'required', max_output_tokens: 60 });
    const call = forced.output.find((item) => item.type === 'function_call');
    assert.equal(typeof JSON.parse(call.arguments).yes, 'boolean');
    const output = [{ type: 'function_call_output', call_id: call.call_id, output: 'noted' }];
    const answered = await client.responses.create({ model: 'chat', previous_response_id: forced.id, input: output, tools, tool_choice: 'none', max_output_tokens: 20 });
    assert(answered.output_text);
    const items = [];
    for await (const item of client.responses.inputItems.list(answered.id, { order: 'asc', limit: 1 })) items.push(item.type);
    assert.deepEqual(items, ['message', 'function_call', 'function_call_output']);
  });
  await check('kept response', async () => {
    const first = await client.responses.create({ model: 'chat', input: 'Say hello.', max_output_tokens: 5 });
    assert.deepEqual((await client.responses.retrieve(first.id)).output, first.output);
    await client.responses.delete(first.id);
    const error = await raised(OpenAI.NotFoundError, () => client.responses.create({ model: 'chat', input: 'x', previous_response_id: first.id }));
    assert.deepEqual([error.code, error.param], ['previous_response_not_found', 'previous_response_id']);
  });
  await check('stream of events closed by the client', async () => {
    for await (const event of await client.responses.create({ model: 'chat', input: 'Write a long story.', max_output_tokens: 1500, ignore_eos: true, stream: true })) {
      if (event.type === 'response.output_text.delta') break;
    }
  });
  await check('hosted tool', async () => {
    const error = await raised(OpenAI.BadRequestError, () => client.responses.create({ model: 'chat', input: 'x', tools: [{ type: 'mcp', server_label: 'x', server_url: 'http://localhost' }] }));
    assert.equal(error.param, 'tools[0].type');
  });
}
