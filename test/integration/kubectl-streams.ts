import assert from 'node:assert/strict';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ControlPlane } from './cluster-fixture.ts';
import { commandResult, withForwardedPort } from './cluster-server-clients.ts';

/** The environment that selects the protocol of kubectl 1.36; WebSockets are its default. */
const TRANSPORTS = {
  WebSockets: {},
  SPDY: { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false', KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' },
} as const;

/** The tested cluster and its pods. */
export interface StreamingCluster {
  readonly plane: ControlPlane;
  /** Creates a busybox pod whose container `main` runs a shell command; resolves when it is ready. */
  createShell(name: string, line: string, container?: object, pod?: object): Promise<void>;
}

/**
 * The tests of kubectl's streams, over each protocol: exec, cp, attach, port-forward. The pods
 * `shell-websockets` and `shell-spdy` stay.
 */
export function testStreams(cluster: () => StreamingCluster): void {
  for (const [transport, env] of Object.entries(TRANSPORTS)) {
    const ofTransport = (name: string): string => `${name}-${transport.toLowerCase()}`;
    const start = (...args: readonly string[]) => cluster().plane.startKubectl(args, env);
    const shell = ofTransport('shell');

    test(`exec over ${transport}: input, both outputs, the exit code`, async () => {
      await cluster().createShell(shell, 'sleep 1000');
      const run = start('exec', '-i', shell, '--', 'sh', '-c', 'cat; echo out; echo err >&2; exit 7');
      run.stdin.end('in ');
      assert.deepEqual(await commandResult(run), {
        stdout: 'in out\n',
        stderr: 'err\ncommand terminated with exit code 7\n',
        code: 7,
      });
    });

    test(`cp over ${transport}: into a pod and back`, async () => {
      const [there, back] = ['there', 'back'].map((name) => join(cluster().plane.folder, ofTransport(name)));
      assert.ok(there && back);
      writeFileSync(there, randomBytes(3_000_000));
      await succeeds(start('cp', there, `${shell}:/tmp/file`));
      await succeeds(start('cp', `${shell}:/tmp/file`, back));
      assert.ok(readFileSync(back).equals(readFileSync(there)));
    });

    test(`attach over ${transport}: input is echoed, and its end ends the session`, async () => {
      const pod = ofTransport('attach');
      const line = 'while read line; do echo "got $line"; done; echo over';
      await cluster().createShell(pod, line, { stdin: true, stdinOnce: true }, { restartPolicy: 'Never' });
      const attached = start('attach', '-i', '-q', pod);
      attached.stdin.end('one\ntwo\n');
      const { stdout, code } = await commandResult(attached);
      assert.deepEqual({ stdout, code }, { stdout: 'got one\ngot two\nover\n', code: 0 });
      await cluster().plane.wait(pod, 'jsonpath={.status.phase}=Succeeded');
    });

    test(`port-forward over ${transport}`, async () => {
      const pod = ofTransport('web');
      const line = 'mkdir /www; echo served > /www/index.html; httpd -f -p 8080 -h /www';
      await cluster().createShell(pod, line, { readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 } });
      await withForwardedPort(cluster().plane, { pod, port: 8080, env }, async (url) => {
        const pages = Array.from({ length: 5 }, async () => (await fetch(url)).text());
        assert.deepEqual(await Promise.all(pages), Array(5).fill('served\n'));
      });
    });
  }
}

/** kubectl of 1.36 uses SPDY when a WebSocket fails: then the other tests succeed all the same. Its log says so. */
export function testWebSocketsWithoutFallback(cluster: () => StreamingCluster): void {
  const VERBOSE = '--v=4';

  test('kubectl does not fall back from WebSockets to SPDY', async () => {
    const { plane, createShell } = cluster();
    const pod = 'no-fallback';
    const line = 'mkdir /www; echo served > /www/index.html; httpd -f -p 8080 -h /www';
    await createShell(pod, line, { readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 } });
    const run = plane.startKubectl(['exec', VERBOSE, '-i', pod, '--', 'cat']);
    run.stdin.end('in');
    const { stdout, stderr, code } = await commandResult(run);
    assert.deepEqual([stdout, code], ['in', 0]);
    assert.doesNotMatch(stderr, /fallback/i);
    const logged = await withForwardedPort(plane, { pod, port: 8080, env: {}, flags: [VERBOSE] }, async (url) => {
      assert.equal(await (await fetch(url)).text(), 'served\n');
    });
    assert.doesNotMatch(logged, /fallback/i);
  });
}

async function succeeds(child: ChildProcessWithoutNullStreams): Promise<void> {
  child.stdin.end();
  const { code, stderr } = await commandResult(child);
  assert.equal(code, 0, stderr);
}
