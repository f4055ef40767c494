/** SIGTERM ends an agent whatever hangs: a mount, a runtime, a CNI plugin, a client. A second one ends it at once. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { connectCri } from '../../src/cri/client.ts';
import { RunPodSandboxRequest } from '../../src/cri/generated/runtime-v1.ts';
import { findProcesses } from '../../src/host/linux/process/find-processes.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { type RunningNodelet, TestNodelet, watch } from './nodelet-fixture.ts';
import { unmountBelow } from './runtime-cleanup.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';

const BIN = join(import.meta.dirname, '../../bin/nodelet');
const skip = embeddedSkipReason() || (!existsSync('/dev/fuse') && 'no /dev/fuse for a mount that hangs');

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-hang-'));
  t.after(async () => {
    await killProcessesOf(folder);
    unmountBelow(folder);
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/**
 * Starts the command in its own mount namespace, where `folder/hung` is a file system whose requests no process
 * answers, and /run/nodelet is private. The mount ends with the process, which holds its only descriptor.
 */
function besideHungMount(t: TestContext, folder: string, command: readonly string[]) {
  mkdirSync(join(folder, 'hung'), { recursive: true });
  const script = [
    'exec 9<>/dev/fuse',
    `mount -i -t fuse hung ${folder}/hung -o fd=9,rootmode=40000,user_id=0,group_id=0`,
    'mkdir -p /run/nodelet && mount -t tmpfs -o mode=755 own /run/nodelet',
    'exec "$@"',
  ].join(' && ');
  const args = ['--mount', '--propagation', 'private', 'bash', '-c', script, 'bash', ...command];
  const started = spawn('unshare', args, { stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => started.kill('SIGKILL'));
  return watch(started);
}

/** Resolves when a thread of the process is in a system call on the hung mount. */
async function hangsOnMount({ process: { pid }, output }: RunningNodelet): Promise<void> {
  const threads = `/proc/${pid}/task`;
  const isHung = (thread: string): boolean => readFileSync(`${threads}/${thread}/stack`, 'utf8').includes('fuse');
  do {
    assert.ok(existsSync(threads), output());
    await delay(20);
  } while (!readdirSync(threads).some(isHung));
}

function kubeletFlags(folder: string, rootDir: string): string[] {
  const settings = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: `unix://${folder}/cri.sock`,
    enableServer: false,
    healthzPort: 0,
    authentication: { webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
  };
  const config = join(folder, 'config.yaml');
  writeFileSync(config, JSON.stringify(settings));
  return ['--config', config, '--root-dir', rootDir];
}

suite('an end while something hangs', { skip, timeout: 300_000 }, () => {
  const words: Record<number, RegExp> = { 1: /cannot end within 10 s/, 2: /ends at once/ };
  for (const [signals, word] of Object.entries(words)) {
    test(`nodelet kubelet exits with its root directory on a hung mount, signals sent: ${signals}`, async (t) => {
      const folder = folderFor(t);
      const flags = kubeletFlags(folder, join(folder, 'hung/root'));
      const kubelet = besideHungMount(t, folder, [BIN, 'kubelet', ...flags]);
      await hangsOnMount(kubelet);
      for (let sent = 0; sent < Number(signals); sent++) {
        kubelet.process.kill('SIGTERM');
        await delay(200); // two signals at once are coalesced
      }
      assert.equal(await kubelet.exited, 1, kubelet.output());
      assert.match(kubelet.output(), word);
    });
  }

  test('nodelet kubelet exits while its runtime hangs', async (t) => {
    const folder = folderFor(t);
    const runtime = createServer(() => {}).listen(join(folder, 'cri.sock')); // accepts connections and never responds
    t.after(() => runtime.close());
    const connected = once(runtime, 'connection');
    const kubelet = besideHungMount(t, folder, [BIN, 'kubelet', ...kubeletFlags(folder, join(folder, 'root'))]);
    await Promise.race([connected, kubelet.exited]);
    kubelet.process.kill('SIGTERM');
    assert.equal(await kubelet.exited, 0, kubelet.output());
  });

  test('nodelet run exits when the volume of a pod hangs', async (t) => {
    const nodelet = new TestNodelet();
    t.after(() => nodelet.cleanUp());
    const manifest = nodelet.write(
      'hung.yaml',
      `apiVersion: v1
kind: Pod
metadata: {name: hung}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: data, hostPath: {path: ${nodelet.folder}/hung/data, type: Directory}}]
  containers:
  - {name: main, image: "localhost/nodelet/busybox:1", command: [sleep, "1000"], volumeMounts: [{name: data, mountPath: /data}]}
`,
    );
    const places = ['--root', nodelet.rootDir, '--state', nodelet.stateDir, '--pod-cidr', nodelet.podCidr];
    const run = besideHungMount(t, nodelet.folder, [BIN, 'run', ...places, manifest]);
    await run.line(/✓ runtime/);
    await hangsOnMount(run);
    run.process.kill('SIGTERM');
    await run.line(/stopping 1 pod/);
    run.process.kill('SIGTERM');
    assert.equal(await run.exited, 1, run.output());
    assert.match(run.output(), /cannot end at once, the next start takes over what is left: hung/);
  });

  test('nodelet cri exits while a CNI plugin and a client hang', async (t) => {
    const folder = folderFor(t);
    for (const name of ['cni', 'bin']) mkdirSync(join(folder, name));
    const network = { cniVersion: '1.0.0', name: 'hung', plugins: [{ type: 'hung' }] };
    writeFileSync(join(folder, 'cni/10-hung.conflist'), JSON.stringify(network));
    const asked = join(folder, 'asked');
    const plugin = `#!/bin/sh\n[ "$CNI_COMMAND" = VERSION ] && { echo '{"cniVersion":"1.0.0","supportedVersions":["1.0.0"]}'; exit; }
trap '' TERM INT\ntouch ${asked}\nwhile :; do sleep 1; done\n`;
    writeFileSync(join(folder, 'bin/hung'), plugin, { mode: 0o755 });
    const endpoint = `unix://${folder}/cri.sock`;
    const places = ['--root', join(folder, 'root'), '--state', join(folder, 'state'), '--listen', endpoint];
    const plugins = ['--cni-conf-dir', join(folder, 'cni'), '--cni-bin-dir', join(folder, 'bin')];
    const command = spawn(BIN, ['cri', ...places, ...plugins], { stdio: ['ignore', 'pipe', 'pipe'] });
    t.after(() => command.kill('SIGKILL'));
    const cri = watch(command);
    await cri.line(/serving CRI/);
    const client = await stoppedClient(t, join(folder, 'cri.sock'));
    const connection = connectCri(endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 120_000 });
    t.after(() => connection.close());
    const config = { metadata: { name: 'a', uid: 'a', namespace: 'default', attempt: 0 }, logDirectory: folder };
    const request = RunPodSandboxRequest.fromPartial({ config });
    const failed = assert.rejects(connection.runtime.runPodSandbox(request, AbortSignal.timeout(120_000)));
    while (!existsSync(asked)) await delay(20);
    command.kill('SIGTERM');
    assert.equal(await cri.exited, 1, cri.output());
    assert.match(cri.output(), /cannot end within 10 s/);
    client.kill('SIGKILL');
    await failed;
  });
});

/** The plugin outlives an agent that exits at once; the next agent would end it. */
async function killProcessesOf(folder: string): Promise<void> {
  for (const { pid } of await findProcesses(({ args }) => args.some((arg) => arg.startsWith(folder)))) {
    process.kill(pid, 'SIGKILL');
  }
}

const CLIENT = `
  const client = require('node:http2').connect('http://localhost', {
    createConnection: () => require('node:net').connect(process.argv[1]),
  });
  const path = '/runtime.v1.RuntimeService/GetContainerEvents';
  client.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
  client.once('remoteSettings', () => console.log('connected'));
`;

/** A client in the middle of a request that neither reads nor disconnects. */
async function stoppedClient(t: TestContext, socketPath: string): Promise<ChildProcess> {
  const client = spawn(process.execPath, ['-e', CLIENT, socketPath], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => client.kill('SIGKILL'));
  await once(client.stdout, 'data');
  client.kill('SIGSTOP');
  return client;
}
