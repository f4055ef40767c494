import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { BUSYBOX_IMAGE, ensureLocalImages, PAUSE_IMAGE } from '../../src/app/images/local-images.ts';
import { type PrivateRuntime, startPrivateRuntime } from '../../src/app/private-runtime/private-runtime.ts';
import { missingPrograms } from '../../src/app/private-runtime/programs.ts';
import { runtimePaths } from '../../src/app/private-runtime/runtime-paths.ts';
import { silentLog } from '../../src/base/log.ts';
import { type CriConnection, connectCri } from '../../src/cri/client.ts';
import {
  CreateContainerRequest,
  ListImagesRequest,
  ListPodSandboxRequest,
  PodSandboxConfig,
  RunPodSandboxRequest,
} from '../../src/cri/generated/runtime-v1.ts';
import type { Host } from '../../src/host/host.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';

const HOST_PORT = 20_000 + (process.pid % 10_000);
const linuxHost = createLinuxHost();

suite('startPrivateRuntime()', { skip: await skipReason(), timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-runtime-'));
  const rootDir = join(folder, 'root');
  const stateDir = join(folder, 'state');
  const paths = runtimePaths({ rootDir, stateDir });
  const cgroupParent = `/${folder.split('/').at(-1)}`;
  const podCidr = `10.59.${process.pid % 256}.0/24`;
  const signal = AbortSignal.timeout(120_000);
  const { host, programs } = countingHost();
  const footprintBefore = footprint(folder, paths.bridge);
  let runtime: PrivateRuntime | undefined;
  let pod: { readonly sandbox: string; readonly container: string; readonly ip: string } | undefined;

  const start = async (): Promise<number> => {
    runtime = await startPrivateRuntime({ host, rootDir, stateDir, podCidr, log: silentLog }, signal);
    return JSON.parse(readFileSync(paths.record, 'utf8')).pid;
  };
  const withCri = async <T>(use: (cri: CriConnection) => Promise<T>): Promise<T> => {
    const cri = connectCri(`unix://${paths.socket}`, { clock: host.clock, runtimeRequestTimeoutMs: 20_000 });
    try {
      return await use(cri);
    } finally {
      cri.close();
    }
  };
  const ensureImages = () =>
    withCri(({ images }) => ensureLocalImages({ ...host, images, socketPath: paths.socket }, signal));

  after(async () => {
    if (existsSync(paths.socket)) await withCri((cri) => removePods(cri, signal)).catch(() => {});
    await runtime?.stop();
    await host.cgroups.remove(cgroupParent);
    rmSync(folder, { recursive: true, force: true });
  });

  test('starts a daemon that is ready for pods', async () => {
    await start();
    const { status } = await withCri(({ runtime }) => runtime.status({ verbose: false }, signal));
    assert.deepEqual(
      status?.conditions.map(({ type, status }) => ({ type, status })),
      [
        { type: 'RuntimeReady', status: true },
        { type: 'NetworkReady', status: true },
      ],
    );
    assert.equal(readFileSync(paths.log, 'utf8'), '', 'nothing to warn about');
  });

  test('takes the local images once', async () => {
    await ensureImages();
    const imports = programs.filter((program) => program === 'ctr').length;
    await ensureImages();
    assert.deepEqual(
      { imports, importsAfterTheSecondTime: programs.filter((program) => program === 'ctr').length },
      { imports: 2, importsAfterTheSecondTime: 2 },
    );
    const { images } = await withCri(({ images }) => images.listImages(ListImagesRequest.create(), signal));
    assert.deepEqual(images.flatMap(({ repoTags }) => repoTags).sort(), [BUSYBOX_IMAGE, PAUSE_IMAGE]);
  });

  test('takes over the daemon of an earlier start', async () => {
    const first = recordedPid(paths.record);
    assert.equal(await start(), first);
  });

  test('finds a daemon that nobody recorded', async () => {
    const first = recordedPid(paths.record);
    rmSync(paths.record);
    const second = await start();
    assert.notEqual(second, first, 'its configuration is not known, so it starts again');
    assert.equal(await host.processes.identify(first), undefined);
  });

  test('runs a pod with a network and a host port', async () => {
    assert.equal(await runtime?.isEmpty(), true);
    pod = await withCri((cri) => runPod(cri, podConfig(cgroupParent), signal));
    assert.equal(await runtime?.isEmpty(), false);
    assert.equal(await get(pod.ip, 8080), 'hello');
    // Not by 127.0.0.1: the machine's own address also works where local traffic is not routed.
    assert.equal(await get(gatewayOf(pod.ip), HOST_PORT), 'hello');
    assert.equal(readFileSync('/proc/sys/net/ipv4/ip_forward', 'utf8'), '1\n');
  });

  test('starts anew over a killed daemon and finds its pods', async () => {
    const killed = await host.processes.identify(recordedPid(paths.record));
    assert.ok(killed);
    await host.processes.kill(killed, 'SIGKILL');
    await host.processes.waitForExit(killed, signal);
    assert.notEqual(await start(), killed.pid);
    assert.deepEqual(await readySandboxes(), [pod?.sandbox]);
    assert.equal(await get(pod?.ip ?? '', 8080), 'hello');
  });

  test('restarts the daemon under running pods when its configuration changed', async () => {
    const first = recordedPid(paths.record);
    writeFileSync(paths.record, readFileSync(paths.record, 'utf8').replace('sha256:', 'sha256:0'));
    assert.notEqual(await start(), first);
    assert.deepEqual(await readySandboxes(), [pod?.sandbox]);
  });

  test('leaves pods and their network alone when it stops', async () => {
    assert.equal(await runtime?.stop(), false);
    assert.equal(existsSync(`/sys/class/net/${paths.bridge}`), true);
    assert.equal(await get(pod?.ip ?? '', 8080), 'hello');
    await start();
    assert.deepEqual(await readySandboxes(), [pod?.sandbox]);
  });

  test('leaves nothing but images when it stops without pods', async () => {
    await withCri((cri) => removePods(cri, signal));
    await host.cgroups.remove(cgroupParent);
    assert.equal(await runtime?.isEmpty(), true);
    assert.equal(await runtime?.stop(), true);
    assert.deepEqual(footprint(folder, paths.bridge), footprintBefore);
    assert.deepEqual(readdirSync(stateDir), []);
  });

  test('keeps the images for the next run, and may be stopped twice', async () => {
    const imports = programs.filter((program) => program === 'ctr').length;
    await start();
    await ensureImages();
    assert.equal(programs.filter((program) => program === 'ctr').length, imports);
    await runtime?.stop();
    await runtime?.stop();
    assert.deepEqual(footprint(folder, paths.bridge), footprintBefore);
  });

  test('takes away the network of a sandbox that was half made when the daemon ended', async () => {
    await start();
    const namespace = join(paths.folder, 'half-made');
    const link = `half${process.pid}`;
    writeFileSync(namespace, '');
    const run = (program: string, ...args: string[]) => execFileSync(program, args);
    run('unshare', `--net=${namespace}`, 'true');
    run('ip', 'link', 'add', paths.bridge, 'type', 'bridge');
    const pair = ['type', 'veth', 'peer', 'name', link, 'netns', String(process.pid)];
    run('nsenter', `--net=${namespace}`, 'ip', 'link', 'add', 'eth0', ...pair);
    run('ip', 'link', 'set', link, 'master', paths.bridge);
    await runtime?.stop();
    assert.deepEqual(footprint(folder, paths.bridge), footprintBefore);
    assert.deepEqual(readdirSync(stateDir), []);
  });

  test('refuses a pod range that the machine uses itself, before it starts anything', async () => {
    const options = { host, rootDir, stateDir, podCidr: '127.0.0.0/16', log: silentLog };
    await assert.rejects(startPrivateRuntime(options, signal), {
      name: 'RuntimeStartError',
      message: "the pod range 127.0.0.0/16 holds this machine's own address 127.0.0.1; choose another",
    });
    assert.deepEqual(readdirSync(stateDir), []);
  });

  async function readySandboxes(): Promise<string[]> {
    const { items } = await withCri(({ runtime }) => runtime.listPodSandbox(ListPodSandboxRequest.create(), signal));
    return items.filter(({ state }) => state === 0).map(({ id }) => id);
  }
});

async function skipReason(): Promise<string | false> {
  if (process.getuid?.() !== 0) return 'needs root';
  const missing = await missingPrograms(linuxHost.fs);
  return missing.length > 0 ? `not installed: ${missing.join(', ')}` : false;
}

/** The machine, with a list of the programs that were run to their end. */
function countingHost(): { readonly host: Host; readonly programs: readonly string[] } {
  const programs: string[] = [];
  const { processes } = linuxHost;
  const run: typeof processes.run = (command, signal) => {
    programs.push(command.program);
    return processes.run(command, signal);
  };
  return { host: { ...linuxHost, processes: { ...processes, run } }, programs };
}

function podConfig(cgroupParent: string): PodSandboxConfig {
  return PodSandboxConfig.fromPartial({
    metadata: { name: 'web', uid: cgroupParent.slice(1), namespace: 'default', attempt: 0 },
    hostname: 'web',
    portMappings: [{ protocol: 0, containerPort: 8080, hostPort: HOST_PORT, hostIp: '' }],
    linux: { cgroupParent, securityContext: { namespaceOptions: { network: 0, pid: 1, ipc: 0 } } },
  });
}

async function runPod({ runtime }: CriConnection, sandboxConfig: PodSandboxConfig, signal: AbortSignal) {
  const sandbox = await runtime.runPodSandbox(RunPodSandboxRequest.create({ config: sandboxConfig }), signal);
  const podSandboxId = sandbox.podSandboxId;
  const script = 'mkdir /www; printf hello >/www/index.html; exec httpd -f -p 8080 -h /www';
  const request = CreateContainerRequest.fromPartial({
    podSandboxId,
    sandboxConfig,
    config: {
      metadata: { name: 'web', attempt: 0 },
      image: { image: BUSYBOX_IMAGE },
      command: ['sh', '-c', script],
      linux: { resources: {} },
    },
  });
  const { containerId } = await runtime.createContainer(request, signal);
  await runtime.startContainer({ containerId }, signal);
  const { status } = await runtime.podSandboxStatus({ podSandboxId, verbose: false }, signal);
  return { sandbox: podSandboxId, container: containerId, ip: status?.network?.ip ?? '' };
}

async function removePods({ runtime }: CriConnection, signal: AbortSignal): Promise<void> {
  const { items } = await runtime.listPodSandbox(ListPodSandboxRequest.create(), signal);
  for (const { id: podSandboxId } of items) {
    await runtime.stopPodSandbox({ podSandboxId }, signal);
    await runtime.removePodSandbox({ podSandboxId }, signal);
  }
}

/** The server may take a moment until it listens. */
async function get(host: string, port: number): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      const response = await fetch(`http://${host}:${port}/`, { signal: AbortSignal.timeout(2_000) });
      return await response.text();
    } catch (error) {
      if (attempt === 50) throw error;
      await linuxHost.clock.sleep(20, AbortSignal.timeout(1_000));
    }
  }
}

function gatewayOf(ip: string): string {
  return ip.replace(/\.\d+$/, '.1');
}

function recordedPid(record: string): number {
  return JSON.parse(readFileSync(record, 'utf8')).pid;
}

/** What a runtime with these names has on the machine outside its own files. */
function footprint(folder: string, bridge: string) {
  return {
    mounts: mountsBelow(folder),
    links: readdirSync('/sys/class/net').filter((name) => name === bridge),
    // Chains of host ports are shared with any other network of this machine; they count when they are not in use.
    rules: savedRules().filter((line) => line.includes(bridge) || line.includes('HOSTPORT')),
    processes: commandLines().filter((line) => line.includes(folder)),
    cgroups: readdirSync('/sys/fs/cgroup').flatMap((hierarchy) => {
      const path = join('/sys/fs/cgroup', hierarchy, folder.split('/').at(-1) ?? '');
      return existsSync(path) ? [path] : [];
    }),
  };
}

function mountsBelow(folder: string): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((target) => target.startsWith(folder));
}

function savedRules(): string[] {
  return execFileSync('iptables-save', { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.startsWith('-A ') || line.startsWith(':CNI'));
}

function commandLines(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')];
      } catch {
        return []; // it ended while we looked
      }
    });
}
