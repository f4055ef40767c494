import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { createLocalClient } from './local-client.ts';

const socketPath = '/run/nodelet/nodelet.sock';

test('the client says how to start an agent when no agent runs', async (t) => {
  const { network } = createMemoryHost();
  await assert.rejects(createLocalClient({ network, socketPath }).version(t.signal), {
    name: 'NoAgentError',
    message: "no agent is running here (/run/nodelet/nodelet.sock: ENOENT); start one with 'nodelet run FILE'",
  });
});

test('the client reports a missing permission', async (t) => {
  const { network } = createMemoryHost();
  network.errors.failNext('request', 'EACCES');
  await assert.rejects(createLocalClient({ network, socketPath }).version(t.signal), {
    name: 'NoAgentError',
    message: 'permission denied on /run/nodelet/nodelet.sock: only root may talk to the agent',
  });
});

test('the client shows an answer that is not ours as it is', async (t) => {
  const { network, fs } = createMemoryHost();
  await fs.makeDirectory('/run/nodelet');
  await network.serve({ socketPath, mode: 0o600 }, async () => ({ status: 404, body: 'what?' }));
  await assert.rejects(createLocalClient({ network, socketPath }).version(t.signal), {
    code: 'Internal',
    message: 'the agent answered 404: what?',
  });
});
