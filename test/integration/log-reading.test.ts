/** Very large log lines and messages, read from real files and through the socket of an agent. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import {
  exitedContainer,
  observedOf,
  reportOf,
  runningContainer,
  ScriptedView,
  staticPod,
  wholeLog,
} from '../../src/kubelet/local-api/fake/scripted-view.ts';
import { createLocalApi } from '../../src/kubelet/local-api/local-api.ts';
import { createLocalClient } from '../../src/kubelet/local-api/local-client.ts';
import { terminationMessage } from '../../src/kubelet/pleg/termination-message.ts';

const MEGABYTE = 1_000_000;
/** Far more than memory grows by before the garbage collector runs. */
const HUGE = 300 * MEGABYTE;
const TIME = '2026-11-15T10:00:00.5Z';
const never = new AbortController().signal;
const host = createLinuxHost(process.env);

const query = wholeLog('hello');

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-logs-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** A log file: one line, then a line of 300 MB in pieces of this size, then another line. */
async function writeLog(path: string, pieceBytes: number): Promise<void> {
  const file = createWriteStream(path);
  const put = async (text: string | Buffer): Promise<void> => {
    if (!file.write(text)) await once(file, 'drain');
  };
  await put(`${TIME} stdout F before\n`);
  const block = Buffer.alloc(Math.min(pieceBytes, MEGABYTE), 'x');
  for (let written = 0; written < HUGE; written += pieceBytes) {
    await put(`${TIME} stdout ${written + pieceBytes < HUGE ? 'P' : 'F'} `);
    for (let at = 0; at < pieceBytes; at += block.length) await put(block.subarray(0, pieceBytes - at));
    await put('\n');
  }
  await put(`${TIME} stdout F after\n`);
  file.end();
  await once(file, 'close');
}

/** An agent's socket with one pod of that log, and a client. */
async function serve(t: TestContext, folder: string, logPath: string) {
  const view = new ScriptedView();
  const pod = staticPod('hello');
  view.show(reportOf(pod, { observed: observedOf(pod, [runningContainer('c1', 'web', logPath)]) }));
  const socketPath = join(folder, 'nodelet.sock');
  const runtime = { exec: async () => ({ url: '' }) };
  const identity = { version: '0', pid: process.pid };
  const api = createLocalApi({ identity, fs: host.fs, clock: host.clock, agent: () => ({ view, runtime }) });
  const server = await host.network.serve({ socketPath, mode: 0o600 }, api);
  t.after(() => server.close());
  return createLocalClient({ network: host.network, socketPath });
}

const shapes: Record<string, number> = { 'in one piece': HUGE, 'in pieces of 16 KiB': 16 * 1024 };

for (const [shape, pieceBytes] of Object.entries(shapes)) {
  test(`a log line of 300 MB ${shape} is read unchanged, with little memory`, { timeout: 900_000 }, async (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, '0.log');
    await writeLog(path, pieceBytes);
    const client = await serve(t, folder, path);
    const lineBytes = Math.ceil(HUGE / pieceBytes) * pieceBytes;

    const { text } = await client.logs(query, t.signal);
    const before = process.memoryUsage().rss;
    let most = before;
    let bytes = 0;
    let feeds = 0;
    let end = '';
    for await (const chunk of text) {
      bytes += chunk.length;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) feeds++;
      end = (end + Buffer.from(chunk.subarray(-20)).toString()).slice(-20);
      most = Math.max(most, process.memoryUsage.rss());
    }
    assert.deepEqual([bytes, feeds], ['before\n'.length + lineBytes + 1 + 'after\n'.length, 3]);
    assert.ok(end.endsWith('xxx\nafter\n'));
    const grown = (most - before) / MEGABYTE;
    t.diagnostic(`memory grew by ${grown.toFixed(1)} MB, both ends of the socket in one process`);
    // A line that is held as a whole takes 300 MB at least; buffers that are not collected yet take up to 150.
    assert.ok(grown < 240, `memory grew by ${grown} MB`);

    const tail = await client.logs({ ...query, tailLines: 1, timestamps: true }, t.signal);
    const shown = Buffer.concat(await Array.fromAsync(tail.text)).toString();
    assert.equal(shown, '2026-11-15T10:00:00.500000000Z after\n');
    const both = await client.logs({ ...query, tailLines: 2, limitBytes: 10 }, t.signal);
    assert.equal(Buffer.concat(await Array.fromAsync(both.text)).toString(), 'x'.repeat(10));
  });
}

test('the exit of a container with a huge or unreadable termination message is known at once', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'message');
  const container = { ...exitedContainer('c1', 'web', join(folder, '0.log')), terminationMessageFile: file };
  writeFileSync(file, '');
  truncateSync(file, 2 ** 40);
  assert.equal(await terminationMessage(container, host.fs, never), '\0'.repeat(4096));
  rmSync(file);
  execFileSync('mkfifo', [file]);
  assert.equal(
    await terminationMessage(container, host.fs, never),
    `Error on reading termination log ${file}: open ${file}: no such device or address`,
  );
});
