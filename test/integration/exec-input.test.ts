/** Commands in containers of the real runtime, as `nodelet exec` runs them: input, its end, output, exit codes. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { type CriConnection, connectCri } from '../../src/cri/client.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { type Network, NetworkError } from '../../src/host/network.ts';
import { connectExec, type ExecRequest } from '../../src/kubelet/local-api/exec-connect.ts';
import type { ExecConnection } from '../../src/kubelet/local-api/exec-connection.ts';
import { podOf } from '../agent/memory-agent.ts';
import { EXITS_ON_SIGTERM, shell, startTestAgent, type TestAgent } from './agent-fixture.ts';
import { runtimeSkipReason, TEST_RUNTIME } from './runtime-fixture.ts';

const signal = new AbortController().signal;
const { network } = createLinuxHost(process.env);

type ExecNetwork = Pick<Network, 'webSocket' | 'upgrade'>;

/** The default protocol of the runtime, and SPDY on all of them. */
const WAYS: Record<string, ExecNetwork> = {
  'the way that the runtime offers': network,
  SPDY: {
    webSocket: () => Promise.reject(new NetworkError('EPROTO', 'not today')),
    upgrade: (request, until) => network.upgrade(request, until),
  },
};

/** In pieces of 16 KiB. containerd 1.6 may not report the exit of a command while its input exceeds a pipe buffer. */
const MOST_UNREAD = TEST_RUNTIME === 'embedded' ? Number.POSITIVE_INFINITY : 2;

/** The whole output of the command. */
async function output(connection: ExecConnection): Promise<unknown> {
  const [stdout, stderr]: [Uint8Array[], Uint8Array[]] = [[], []];
  const end = await connection.receive({
    stdout: async (data) => void stdout.push(data),
    stderr: async (data) => void stderr.push(data),
  });
  return { stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString(), ...end };
}

suite('exec', { skip: runtimeSkipReason(), timeout: 900_000 }, () => {
  let it: TestAgent;
  let cri: CriConnection;

  before(async () => {
    it = await startTestAgent();
    cri = connectCri(it.runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 120_000 });
    const ready = it.ready('web');
    it.source.set(podOf('web', { containers: [shell('main', EXITS_ON_SIGTERM)] }));
    await ready;
  });
  after(async () => {
    cri.close();
    await it.stop();
  });

  for (const [way, ways] of Object.entries(WAYS)) {
    const start = (line: string, options: ExecRequest = { input: 'bytes', tty: false }): Promise<ExecConnection> => {
      const containerId = it.report('web').observed?.containers.find(({ name }) => name === 'main')?.id ?? '';
      const [stdin, stderr] = [options.input !== 'none', !options.tty];
      const address = async (): Promise<string> => {
        const request = { containerId, cmd: ['sh', '-c', line], stdin, tty: options.tty, stdout: true, stderr };
        return (await cri.runtime.exec(request, signal)).url;
      };
      return connectExec(ways, address, options, signal);
    };

    test(`${way}: the command reads all of its input, and its end`, async () => {
      const connection = await start('wc -c; echo bad >&2; exit 3');
      const received = output(connection);
      for (let sent = 0; sent < 48; sent++) await connection.stdin(Buffer.alloc(65_536, 'x'));
      await connection.endStdin();
      assert.deepEqual(await received, { stdout: '3145728\n', stderr: 'bad\n', exitCode: 3 });
    });

    test(`${way}: output is streamed while input is still being sent`, async () => {
      const connection = await start('cat');
      const received = output(connection);
      const line = Buffer.alloc(65_536, 'abcdefgh');
      for (let sent = 0; sent < 64; sent++) await connection.stdin(line);
      await connection.endStdin();
      assert.deepEqual(await received, { stdout: line.toString().repeat(64), stderr: '', exitCode: 0 });
    });

    test(`${way}: a command that reads no input ends nevertheless`, async () => {
      const connection = await start('echo done');
      const flood = async (): Promise<void> => {
        for (let sent = 0; sent < MOST_UNREAD; sent++) await connection.stdin(Buffer.alloc(16_384));
      };
      const flooding = flood().catch((error: unknown) => assert.ok(error instanceof NetworkError));
      assert.deepEqual(await output(connection), { stdout: 'done\n', stderr: '', exitCode: 0 });
      await flooding;
    });

    test(`${way}: without input it reads an end at once`, async () => {
      const connection = await start('cat; echo done', { input: 'none', tty: false });
      assert.deepEqual(await output(connection), { stdout: 'done\n', stderr: '', exitCode: 0 });
    });

    test(`${way}: a terminal has the requested size`, async () => {
      const untilItFits = 'until [ "$(stty size 2>/dev/null)" = "37 101" ]; do sleep 0.05; done';
      const connection = await start(`read line; ${untilItFits}; echo fits`, { input: 'keys', tty: true });
      const received = output(connection);
      await connection.resize({ columns: 101, rows: 37 });
      await connection.stdin(Buffer.from('go\r'));
      assert.deepEqual(await received, { stdout: 'go\r\nfits\r\n', stderr: '', exitCode: 0 });
    });
  }
});
