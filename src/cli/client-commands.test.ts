import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startLocalAgent } from '../app/start-local-agent.ts';
import type { ByteStream, UpgradeHandler, WebSocketConnection } from '../host/network.ts';
import { observedOf, READY, reportOf, runningContainer, staticPod } from '../kubelet/local-api/fake/scripted-view.ts';
import { openSpdySession } from '../streams/spdy/open-spdy-session.ts';
import type { SpdyStream } from '../streams/spdy/spdy-session.ts';
import { execCommand } from './commands/exec-command.ts';
import { logsCommand } from './commands/logs-command.ts';
import { psCommand } from './commands/ps-command.ts';
import { stopCommand } from './commands/stop-command.ts';
import { ScriptedAgent } from './fake/scripted-agent.ts';
import { type ScriptedContextOptions, scriptedContext } from './fake/scripted-context.ts';

const client = { stateDir: '/run/nodelet', namespace: undefined };
const exec = { ...client, pod: 'hello', container: undefined, stdin: false, tty: false, command: ['ls'] };

/** An agent in memory with the pod `hello`, whose container `web` runs. */
async function setUp(t: TestContext, options: ScriptedContextOptions = {}) {
  const scripted = scriptedContext(options);
  const { fs, network, clock } = scripted.host;
  const agent = new ScriptedAgent();
  const identity = { version: '1.2.3', pid: 42 };
  const local = await startLocalAgent({ ...client, identity, fs, network, clock }, agent.wiring(), t.signal);
  t.after(() => local.stop());
  await fs.makeDirectory('/logs');
  await fs.writeFile('/logs/0.log', '2026-01-01T00:00:00Z stdout F old\n2026-01-01T00:05:00Z stdout F new\n');
  const pod = staticPod();
  const observed = observedOf(pod, [runningContainer('c1', 'web', '/logs/0.log')]);
  agent.show(reportOf(pod, { observed, status: { ...READY, startTime: '2025-12-31T23:58:00Z' } }));
  return { ...scripted, agent };
}

test('the state folder lets root of a pod with its own users through', async (t) => {
  const { host } = await setUp(t);
  const modeOf = async (path: string): Promise<number> => ((await host.fs.stat(path))?.mode ?? 0) & 0o777;
  assert.equal(await modeOf('/run/nodelet'), 0o711);
});

/** Answers at the address that the runtime of a scripted agent gives. */
function serveExec(
  { host }: Pick<Awaited<ReturnType<typeof setUp>>, 'host'>,
  accept: (connection: WebSocketConnection) => Promise<void>,
  protocols = ['v4.channel.k8s.io'],
): void {
  const webSocket = {
    protocols,
    accept: (connection: WebSocketConnection) => void accept(connection),
  };
  host.network.listen({ host: '127.0.0.1', port: 9 }, { webSocket });
}

const message = (channel: number, text: string): Uint8Array => Buffer.from(`${String.fromCharCode(channel)}${text}`);

test('ps prints a table as kubectl does', async (t) => {
  const { context, written } = await setUp(t);
  assert.equal(await psCommand({ ...client, output: 'wide' }, context), 0);
  assert.deepEqual(written.stdout.split('\n'), [
    'NAME        READY   STATUS    RESTARTS   AGE   IP          NODE',
    'hello-box   0/1     Running   0          2m    10.87.0.5   box',
    '',
  ]);
});

test('ps has a column for namespaces if one differs from default', async (t) => {
  const { context, written, agent } = await setUp(t);
  agent.show(reportOf(staticPod('dns', 'kube-system')));
  await psCommand({ ...client, output: 'table' }, context);
  assert.deepEqual(written.stdout.split('\n'), [
    'NAMESPACE     NAME        READY   STATUS    RESTARTS   AGE',
    'default       hello-box   0/1     Running   0          2m',
    'kube-system   dns-box     0/1     Pending   0          <unknown>',
    '',
  ]);
});

test('ps reports invalid manifests', async (t) => {
  const { context, written, agent } = await setUp(t);
  agent.addManifestErrors({ source: '/m/a.yaml', errors: ['/m/a.yaml:1:1: no', 'EACCES'] });
  await psCommand({ ...client, namespace: 'other', output: 'table' }, context);
  assert.deepEqual(written, {
    stdout: '',
    stderr: 'No resources found.\n/m/a.yaml:1:1: no\n/m/a.yaml: EACCES\n',
  });
});

test('ps prints whole objects as a List', async (t) => {
  const { context, written } = await setUp(t);
  await psCommand({ ...client, output: 'json' }, context);
  const { kind, items } = JSON.parse(written.stdout);
  assert.deepEqual([kind, items[0].kind, items[0].status.phase], ['List', 'Pod', 'Running']);
});

test('logs prints nothing but the log', async (t) => {
  const { context, written, host } = await setUp(t);
  const all = { container: undefined, follow: false, previous: false, timestamps: false, tailLines: undefined };
  host.clock.jump(6 * 60_000);
  assert.equal(await logsCommand({ ...client, ...all, pod: 'hello', sinceMs: 5 * 60_000 }, context), 0);
  assert.deepEqual(written, { stdout: 'new\n', stderr: '' });
});

const HOSTILE = '\u001b[2Jred\u001b]0;title\u0007';
const HARMLESS = '^[[2Jred^[]0;title^G';
const allLogs = { container: undefined, follow: false, previous: false, timestamps: false, tailLines: undefined };

test('logs shows escape sequences on a terminal, and gives a pipe the very bytes', async (t) => {
  for (const [terminals, shown] of [
    [['stdout'], HARMLESS],
    [[], HOSTILE],
  ] as const) {
    const { context, written, host } = await setUp(t, { terminals });
    await host.fs.writeFile('/logs/0.log', `2026-01-01T00:00:00Z stdout F ${HOSTILE}\n`);
    assert.equal(await logsCommand({ ...client, ...allLogs, pod: 'hello', sinceMs: undefined }, context), 0);
    assert.equal(written.stdout, `${shown}\n`);
  }
});

test('exec shows escape sequences on a terminal, unless a tty was asked for', async (t) => {
  const both = ['stdout', 'stderr'] as const;
  for (const [tty, terminals, out, err] of [
    [false, both, HARMLESS, HARMLESS],
    [false, [], HOSTILE, HOSTILE],
    [true, both, HOSTILE, ''],
  ] as const) {
    const given = await setUp(t, { terminals });
    serveExec(given, async (connection) => {
      await connection.send(message(1, HOSTILE));
      if (!tty) await connection.send(message(2, HOSTILE));
      await connection.send(message(3, SUCCESS));
    });
    assert.equal(await execCommand({ ...exec, tty }, given.context), 0);
    assert.deepEqual(given.written, { stdout: out, stderr: err });
  }
});

test('stop names what is gone, and fails when one pod could not be stopped', async (t) => {
  const { context, written, agent } = await setUp(t);
  assert.equal(await stopCommand({ ...client, pods: ['other', 'pod/hello'], graceSeconds: 2 }, context), 1);
  assert.deepEqual(agent.stopped, ['default-hello 2']);
  assert.deepEqual(written, {
    stdout: 'default/hello-box stopped\n',
    stderr: 'nodelet stop: pods "other" not found\n',
  });
});

test('exec shows both outputs and ends with the exit code of the command', async (t) => {
  const given = await setUp(t);
  serveExec(given, async (connection) => {
    await connection.send(message(1, 'out\n'));
    await connection.send(message(2, 'err\n'));
    const details = { causes: [{ reason: 'ExitCode', message: '3' }] };
    await connection.send(message(3, JSON.stringify({ status: 'Failure', reason: 'NonZeroExitCode', details })));
    connection.close();
  });
  assert.equal(await execCommand(exec, given.context), 3);
  assert.deepEqual(given.written, { stdout: 'out\n', stderr: 'err\ncommand terminated with exit code 3\n' });
});

test('exec passes keys and the size of the terminal on', async (t) => {
  const given = await setUp(t, {
    terminal: {
      inputIsTerminal: true,
      async *keys() {
        yield Buffer.from('ls\r');
      },
      async *sizes() {
        yield { columns: 80, rows: 24 };
      },
    },
  });
  const received: string[] = [];
  serveExec(given, async (connection) => {
    for await (const bytes of connection.messages) {
      received.push(Buffer.from(bytes).toString());
      if (received.length === 2) await connection.send(message(3, JSON.stringify({ status: 'Success' })));
    }
  });
  assert.equal(await execCommand({ ...exec, stdin: true, tty: true }, given.context), 0);
  assert.deepEqual(new Set(received), new Set(['\x00ls\r', '\x04{"Width":80,"Height":24}']));
});

test('exec of a program that is not there says so, and ends as a shell would', async (t) => {
  const given = await setUp(t);
  serveExec(given, async (connection) => {
    const why = 'error executing command in container: exec: "ls": executable file not found in $PATH';
    const end = { status: 'Failure', reason: 'InternalError', message: `Internal error occurred: ${why}` };
    await connection.send(message(3, JSON.stringify(end)));
  });
  await assert.rejects(execCommand(exec, given.context), {
    message: 'cannot execute "ls": executable file not found in $PATH',
    exitCode: 127,
  });
});

test('exec fails when the connection is lost', async (t) => {
  const given = await setUp(t);
  serveExec(given, async (connection) => connection.close());
  await assert.rejects(execCommand(exec, given.context), { message: 'the connection to the container was lost' });
});

const SUCCESS = JSON.stringify({ status: 'Success' });
const piped = {
  async *input() {
    yield Buffer.from('one ');
    yield Buffer.from('two');
  },
};

test('exec passes on what is piped in, to its end, by WebSocket where it can signal the end of input', async (t) => {
  const given = await setUp(t, { terminal: piped });
  const accept = async (connection: WebSocketConnection): Promise<void> => {
    let input = '';
    for await (const bytes of connection.messages) {
      if (bytes[0] === 255) break;
      input += Buffer.from(bytes.subarray(1)).toString();
    }
    await connection.send(message(1, input));
    await connection.send(message(3, SUCCESS));
  };
  serveExec(given, accept, ['v5.channel.k8s.io']);
  assert.equal(await execCommand({ ...exec, stdin: true }, given.context), 0);
  assert.deepEqual(given.written, { stdout: 'one two', stderr: '' });
});

/** A runtime as containerd 1.6: WebSockets without the end of a channel, and SPDY. */
function serveSpdyExec(
  { host }: Pick<Awaited<ReturnType<typeof setUp>>, 'host'>,
  run: (streams: ReadonlyMap<string, SpdyStream>) => Promise<void>,
  answered = 'v4.channel.k8s.io',
): string[] {
  const asked: string[] = [];
  const serve = async (stream: ByteStream): Promise<void> => {
    const session = openSpdySession(stream, 'server');
    const streams = new Map<string, SpdyStream>();
    for await (const opened of session.incoming) {
      streams.set(opened.headers['streamtype']?.[0] ?? '', opened);
      if (streams.size === 4) break;
    }
    await run(streams);
    await session.close();
  };
  const offers: UpgradeHandler = ({ upgrade, protocols }) => {
    asked.push(`${upgrade} ${protocols}`);
    if (upgrade === 'websocket') return { kind: 'refuse', status: 403, message: '' };
    return {
      kind: 'stream',
      headers: [['X-Stream-Protocol-Version', answered]],
      serve: (stream) => void serve(stream),
    };
  };
  host.network.listen({ host: '127.0.0.1', port: 9 }, { upgradeHandler: offers });
  return asked;
}

test('exec passes on what is piped in, to its end, by SPDY where WebSockets cannot signal the end of input', async (t) => {
  const given = await setUp(t, { terminal: piped });
  const asked = serveSpdyExec(given, async (streams) => {
    const input = await Array.fromAsync(streams.get('stdin')?.chunks ?? []);
    await streams.get('stdout')?.write(Buffer.concat(input));
    await streams.get('stderr')?.write(Buffer.from('err\n'));
    const details = { causes: [{ reason: 'ExitCode', message: '3' }] };
    const end = JSON.stringify({ status: 'Failure', reason: 'NonZeroExitCode', details });
    await streams.get('error')?.write(Buffer.from(end));
  });
  assert.equal(await execCommand({ ...exec, stdin: true }, given.context), 3);
  assert.deepEqual(given.written, { stdout: 'one two', stderr: 'err\ncommand terminated with exit code 3\n' });
  assert.deepEqual(asked, ['websocket v5.channel.k8s.io', 'SPDY/3.1 v4.channel.k8s.io']);
});

test('exec ends with a command that does not want all of its input', async (t) => {
  async function* input() {
    for (;;) yield Buffer.alloc(65_536);
  }
  const given = await setUp(t, { terminal: { input } });
  serveSpdyExec(given, async (streams) => {
    await streams.get('error')?.write(Buffer.from(SUCCESS));
  });
  assert.equal(await execCommand({ ...exec, stdin: true }, given.context), 0);
});

test('exec fails when a connection of SPDY is lost', async (t) => {
  const given = await setUp(t, { terminal: piped });
  serveSpdyExec(given, async () => {});
  await assert.rejects(execCommand({ ...exec, stdin: true }, given.context), {
    message: 'the connection to the container was lost',
  });
});

test('exec fails when the runtime takes neither', async (t) => {
  const given = await setUp(t, { terminal: piped });
  serveSpdyExec(given, async () => {}, 'v1.channel.k8s.io');
  await assert.rejects(execCommand({ ...exec, stdin: true }, given.context), {
    message: 'the runtime does not speak v4.channel.k8s.io',
  });
});

test('exec works without a terminal, as kubectl does', async (t) => {
  const given = await setUp(t, { terminal: piped });
  serveSpdyExec(given, async (streams) => {
    await streams.get('error')?.write(Buffer.from(SUCCESS));
  });
  assert.equal(await execCommand({ ...exec, stdin: true, tty: true }, given.context), 0);
  assert.equal(given.written.stderr, 'Unable to use a TTY - input is not a terminal or the right kind of file\n');
});
