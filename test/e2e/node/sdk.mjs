// Calls Trident with OpenAI's Node SDK. The e2e tests run it.
//
//   sdk.mjs all URL DOWN_URL     all operations of an application; DOWN_URL is a Trident without a Triton
//   sdk.mjs interrupted URL      streams, prints "streaming", and expects the stream to fail
//
// Prints the name of each check. The exit code is 0 only if all checks succeed.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { responses } from './responses.mjs';

const messages = [{ role: 'user', content: 'Say hello.' }];
const long = { model: 'chat', messages, max_tokens: 1500, ignore_eos: true };

const connect = (url) => new OpenAI({ baseURL: `${url}/v1`, apiKey: 'unused', maxRetries: 0, timeout: 60_000 });

async function check(name, body) {
  try {
    await body();
  } catch (error) {
    throw new Error(`FAILED ${name}`, { cause: error });
  }
  console.log('ok', name);
}

async function raised(kind, call) {
  try {
    await call();
  } catch (error) {
    assert(error instanceof kind, error);
    return error;
  }
  assert.fail(`${kind.name} was not raised`);
}

async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

async function chats(client) {
  await check('chat', async () => {
    const { data, request_id } = await client.chat.completions
      .create({ model: 'chat', messages, max_tokens: 5, ignore_eos: true })
      .withResponse();
    assert(data.choices[0].message.content);
    assert.equal(data.choices[0].finish_reason, 'length');
    assert.equal(data.usage.completion_tokens, 5);
    assert(request_id);
  });
  await check('stream', async () => {
    const stream = await client.chat.completions.create({
      model: 'chat', messages, max_tokens: 12, ignore_eos: true, stream: true, stream_options: { include_usage: true },
    });
    const chunks = await collect(stream);
    const last = chunks.pop();
    assert(chunks.filter((c) => c.choices[0].delta.content).length > 5);
    assert.deepEqual(chunks.map((c) => c.choices[0].delta.role).filter(Boolean), ['assistant']);
    assert.equal(chunks[0].choices[0].delta.role, 'assistant');
    assert.deepEqual(chunks.map((c) => c.choices[0].finish_reason).filter(Boolean), ['length']);
    assert.deepEqual(last.choices, []);
    assert.equal(last.usage.completion_tokens, 12);
  });
  await check('stream with the SDK\'s stream helper', async () => {
    const final = await client.chat.completions.stream({ model: 'chat', messages, max_tokens: 8 }).finalChatCompletion();
    assert(final.choices[0].message.content);
  });
  await check('structured output', async () => {
    const schema = { type: 'object', properties: { yes: { type: 'boolean' } }, required: ['yes'], additionalProperties: false };
    const answer = await client.chat.completions.create({
      model: 'chat', messages, max_tokens: 40, response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } },
    });
    assert.equal(typeof JSON.parse(answer.choices[0].message.content).yes, 'boolean');
  });
  await check('stream closed by the client', async () => {
    const stream = await client.chat.completions.create({ ...long, stream: true });
    for await (const chunk of stream) {
      if (chunk.choices[0].delta.content) break;
    }
  });
  await check('chat aborted by the client', async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 300);
    await raised(OpenAI.APIUserAbortError, () => client.chat.completions.create(long, { signal: controller.signal }));
  });
}

async function completions(client) {
  await check('completions', async () => {
    const answer = await client.completions.create({ model: 'chat', prompt: ['One, two,', 'Red, green,'], max_tokens: 6, echo: true, logprobs: null });
    assert.deepEqual(answer.choices.map((c) => c.text.split(',')[0]), ['One', 'Red']);
    assert(answer.usage.completion_tokens > 0);
  });
  await check('stream of a completion', async () => {
    let text = '';
    let finish;
    for await (const chunk of await client.completions.create({ model: 'chat', prompt: 'One, two,', max_tokens: 8, stream: true })) {
      text += chunk.choices[0].text;
      finish = chunk.choices[0].finish_reason ?? finish;
    }
    assert(text.length > 0);
    assert(['length', 'stop'].includes(finish));
  });
}

async function decisions(client) {
  await check('decisions', async () => {
    const { answers, usage } = await client.decisions.create({
      model: 'chat', input: 'The sky is blue.', questions: [
        { type: 'choice', name: 'color', instructions: 'Which color is the sky?', choices: [{ value: 'blue' }, { value: 'green', description: 'like grass' }] },
        { type: 'score', instructions: 'How bright is it?', levels: [{ label: 'dark' }, { label: 'bright' }] },
      ],
    });
    const [color, bright] = answers;
    const sum = color.probabilities.reduce((total, { probability }) => total + probability, 0);
    assert(color.type === 'choice' && color.name === 'color' && Math.abs(sum - 1) < 1e-9);
    assert(color.probabilities.find(({ value }) => value === color.choice).probability >= 0.5);
    assert(bright.type === 'score' && Math.abs(bright.score - bright.probabilities[1].probability) < 1e-9);
    assert.equal(usage.output_tokens, 2);
  });
}

async function embeddings(client) {
  const input = ['a cat', 'a kitten', 'the stock market'];
  await check('embeddings', async () => {
    const encoded = await client.embeddings.create({ model: 'embedding', input }); // base64 on the wire
    const floats = await client.embeddings.create({ model: 'embedding', input, encoding_format: 'float' });
    assert.deepEqual(encoded.data.map((d) => d.index), [0, 1, 2]);
    encoded.data.forEach(({ embedding }, i) => {
      assert.equal(embedding.length, 384);
      assert(Math.abs(embedding.reduce((sum, x) => sum + x * x, 0) - 1) < 1e-5);
      embedding.forEach((x, j) => assert(Math.abs(x - floats.data[i].embedding[j]) < 1e-6));
    });
  });
  await check('dimensions', async () => {
    const short = await client.embeddings.create({ model: 'embedding', input: 'a cat', dimensions: 32 });
    assert.equal(short.data[0].embedding.length, 32);
  });
}

async function models(client) {
  await check('models', async () => {
    assert.deepEqual((await collect(await client.models.list())).map((m) => m.id), ['chat', 'embedding']);
    assert.equal((await client.models.retrieve('chat')).id, 'chat');
  });
}

async function errors(client, down) {
  for (const stream of [false, true]) {
    const suffix = stream ? ', streaming' : '';
    await check('NotFoundError' + suffix, async () => {
      const error = await raised(OpenAI.NotFoundError, () =>
        client.chat.completions.create({ model: 'none', messages, stream }, { headers: { 'x-request-id': 'my-id' } }));
      assert.deepEqual([error.code, error.param, error.type, error.requestID], ['model_not_found', 'model', 'invalid_request_error', 'my-id']);
    });
    await check('BadRequestError' + suffix, async () => {
      const error = await raised(OpenAI.BadRequestError, () => client.chat.completions.create({ model: 'chat', messages, temperature: 3, stream }));
      assert.deepEqual([error.code, error.param], ['invalid_value', 'temperature']);
      assert(error.requestID);
    });
    await check('InternalServerError' + suffix, async () => {
      const error = await raised(OpenAI.InternalServerError, () => down.chat.completions.create({ model: 'chat', messages, stream }));
      assert.deepEqual([error.status, error.code], [503, 'engine_unavailable']);
      assert(Number(error.headers.get('retry-after')) > 0 && error.requestID);
    });
  }
  await check('request that is too large', async () => {
    const error = await raised(OpenAI.APIError, () =>
      client.chat.completions.create({ model: 'chat', messages: [{ role: 'user', content: 'x'.repeat(2 << 20) }] }));
    assert.deepEqual([error.status, error.code], [413, 'content_too_large']);
    assert(error.requestID);
  });
  await check('unknown model', async () => {
    assert.equal((await raised(OpenAI.NotFoundError, () => client.models.retrieve('org/none'))).code, 'model_not_found');
  });
}

async function interrupted(client) {
  await check('error in the stream', async () => {
    const stream = await client.chat.completions.create({ ...long, stream: true });
    let begun = false;
    const error = await raised(OpenAI.APIError, async () => {
      for await (const chunk of stream) {
        if (chunk.choices[0].delta.content && !begun) {
          begun = true;
          console.log('streaming');
        }
      }
    });
    assert.deepEqual([error.code, error.type], ['engine_unavailable', 'server_error']);
  });
}

const [mode, url, downURL] = process.argv.slice(2);
const client = connect(url);
if (mode === 'interrupted') {
  await interrupted(client);
} else {
  await chats(client);
  await completions(client);
  await responses(client, check, raised);
  await embeddings(client);
  await decisions(client);
  await models(client);
  await errors(client, connect(downURL));
}
