/** Sandboxes on the real kernel, with the CNI bridge plugin and a real OCI runtime. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, suite, test } from 'node:test';
import { silentLog } from '../../src/base/log.ts';
import { NamespaceMode, PodSandboxConfig } from '../../src/cri/generated/runtime-v1.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { createPodNetwork } from '../../src/runtime/network/create-pod-network.ts';
import { noNri } from '../../src/runtime/nri/nri.ts';
import { createOciRuntime } from '../../src/runtime/oci/create-oci-runtime.ts';
import { decodeSandboxRecord } from '../../src/runtime/sandbox/decode-sandbox-record.ts';
import { preparePause } from '../../src/runtime/sandbox/prepare-pause.ts';
import { createSandboxes, type Sandboxes } from '../../src/runtime/server/create-sandboxes.ts';
import { runtimePaths } from '../../src/runtime/settings/runtime-paths.ts';
import { DEFAULT_HANDLER } from '../../src/runtime/settings/runtime-settings.ts';
import { readSpecMachine } from '../../src/runtime/spec/read-spec-machine.ts';
import { openRecordStore } from '../../src/runtime/store/open-record-store.ts';
import { claimSubnet } from './claimed-subnet.ts';
import { removeCgroups } from './runtime-cleanup.ts';

const RUNC = ['/usr/sbin/runc', '/usr/bin/runc'].find((path) => existsSync(path)) ?? '/usr/bin/runc';
const NEEDED = [RUNC, '/usr/bin/conmon', '/usr/bin/catatonit', '/usr/lib/cni/bridge', '/usr/lib/cni/host-local'];
const signal = new AbortController().signal;

suite('sandboxes', { skip: skipReason(), timeout: 600_000 }, () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'nodelet-sandboxes-test-')));
  const bridge = `nlsb${randomBytes(4).toString('hex')}`;
  const host = createLinuxHost(process.env);
  const paths = runtimePaths({ rootDir: `${root}/lib`, stateDir: `${root}/run` });
  chmodSync(root, 0o711); // root of a user namespace needs search permission
  writeNetwork(root, bridge);

  after(() => {
    execFileSync('sh', ['-c', `ip link del ${bridge} 2>/dev/null; true`]);
    removeCgroups(bridge);
    rmSync(root, { recursive: true, force: true });
  });

  async function begin(): Promise<{ sandboxes: Sandboxes; end(): Promise<void> }> {
    const network = createPodNetwork({
      ...host,
      settings: {
        confDir: `${root}/net.d`,
        binDirs: ['/usr/lib/cni'],
        maxConfigs: 1,
        setUpSerially: false,
        ipPreference: 'cni',
        handlers: new Map(),
      },
      cacheDir: paths.cniCache,
      log: silentLog,
    });
    const programs = { program: RUNC, monitorProgram: '/usr/bin/conmon', stateRoot: `${paths.ociState}/runc` };
    const runtime = createOciRuntime({ ...host, ...programs, exits: paths.exits, sockets: paths.sockets });
    const machine = await readSpecMachine(
      { architecture: 'amd64', mayLowerOomScore: false, cgroupDriver: 'cgroupfs' },
      host.fs,
    );
    const sandboxes = createSandboxes({
      ...host,
      log: silentLog,
      paths,
      records: await openRecordStore({
        folder: paths.sandboxRecords,
        overflowFolder: paths.sandboxOverflow,
        fs: host.fs,
        log: silentLog,
        decode: decodeSandboxRecord,
      }),
      runtimes: {
        at: () => runtime,
        handler: (name) => (name === '' ? runtime : undefined),
        handlers: [
          {
            name: '',
            recursiveReadOnlyMounts: true,
            userNamespaces: true,
            idmappedMounts: false,
            settings: DEFAULT_HANDLER,
          },
        ],
      },
      network,
      nri: noNri,
      events: { publish: () => {} },
      containers: { stopAll: async () => {}, removeAll: async () => {}, statuses: () => [] },
      preparePause: preparePause({
        fs: host.fs,
        machine,
        pauseProgram: '/usr/bin/catatonit',
        runtimes: { handlers: [] },
        seccomp: async () => undefined,
      }),
      bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    });
    await sandboxes.recover(signal);
    const stopped = new AbortController();
    const running = Promise.all([sandboxes.run(stopped.signal), sandboxes.runCleanups(stopped.signal)]);
    return {
      sandboxes,
      async end() {
        stopped.abort();
        await running;
      },
    };
  }

  const run = ({ verbs }: Sandboxes, name: string, options: object): Promise<string> => {
    const config = PodSandboxConfig.fromPartial({
      metadata: { name, namespace: 'test', uid: name, attempt: 0 },
      hostname: name,
      linux: {
        cgroupParent: `/${bridge}`,
        sysctls: { 'net.ipv4.ip_unprivileged_port_start': '81' },
        securityContext: { namespaceOptions: options },
      },
    });
    return verbs.runPodSandbox({ config, runtimeHandler: '' }, signal).then(({ podSandboxId }) => podSandboxId);
  };

  async function left(): Promise<string[]> {
    const below = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);
    const mounts = (await host.mounts.list()).map(({ target }) => target).filter((target) => target.startsWith(root));
    const leases = below(`${root}/ipam/${bridge}`).filter((name) => /^\d/.test(name));
    const folders = [
      paths.sandboxRecords,
      `${root}/run/sandboxes`,
      dirname(paths.sandboxFiles('id')),
      `${root}/run/containers`,
      paths.cniCache,
    ];
    return [...mounts, ...leases, ...folders.flatMap(below)];
  }

  const uids = [{ containerId: 0, hostId: 300_000, length: 65_536 }];
  const shapes = {
    usual: { pid: NamespaceMode.CONTAINER },
    'shared processes': { pid: NamespaceMode.POD },
    'its own users': {
      pid: NamespaceMode.CONTAINER,
      usernsOptions: { mode: NamespaceMode.POD, uids, gids: uids },
    },
  };
  for (const [name, options] of Object.entries(shapes)) {
    test(`with ${name} namespaces has an address, a name and its sysctls, and leaves no resources`, async () => {
      const { sandboxes, end } = await begin();
      const id = await run(sandboxes, 'pod', options);
      const { namespaces, ips, pause } = sandboxes.view.find(id) ?? assert.fail();
      const [ip = ''] = ips;
      const script = 'hostname; cat /proc/sys/net/ipv4/ip_unprivileged_port_start; ip -o -4 addr';
      const seen = execFileSync('nsenter', [
        `--net=${namespaces.network}`,
        `--uts=${namespaces.uts}`,
        'sh',
        '-c',
        script,
      ]);
      const [hostname, port, ...addresses] = String(seen).split('\n');
      assert.deepEqual([hostname, port], ['pod', '81']);
      assert.match(
        addresses.join('\n'),
        new RegExp(`lo +inet 127\\.0\\.0\\.1[^]*eth0 +inet ${ip.replaceAll('.', '\\.')}/`),
      );
      assert.equal(pause, name !== 'usual');
      await sandboxes.verbs.removePodSandbox({ podSandboxId: id }, signal);
      assert.deepEqual(await left(), []);
      await end();
    });
  }

  test('are adopted by the next process, with their pause process; its exit is noticed', async () => {
    const first = await begin();
    const id = await run(first.sandboxes, 'kept', shapes['shared processes']);
    const network = readlinkSync(`/proc/${first.sandboxes.view.find(id)?.pausePid}/ns/net`);
    await first.end();

    const { sandboxes, end } = await begin();
    const record = sandboxes.view.find(id) ?? assert.fail();
    assert.equal(record.state.phase, 'ready');
    assert.equal(readlinkSync(`/proc/${record.pausePid}/ns/net`), network);
    process.kill(record.pausePid ?? 0, 'SIGKILL');
    while (sandboxes.view.find(id)?.state.phase === 'ready') await host.clock.sleep(5, signal);
    await sandboxes.verbs.removePodSandbox({ podSandboxId: id }, signal);
    assert.deepEqual(await left(), []);
    await end();
  });

  test('many in parallel', async () => {
    const { sandboxes, end } = await begin();
    const ids = await Promise.all(Array.from({ length: 8 }, (_, i) => run(sandboxes, `pod-${i}`, shapes.usual)));
    const addresses = ids.flatMap((id) => sandboxes.view.find(id)?.ips ?? []);
    assert.equal(new Set(addresses).size, 8);
    await Promise.all(ids.map((podSandboxId) => sandboxes.verbs.removePodSandbox({ podSandboxId }, signal)));
    assert.deepEqual(await left(), []);
    await end();
  });
});

function writeNetwork(root: string, bridge: string): void {
  const ipam = { type: 'host-local', dataDir: `${root}/ipam`, ranges: [[{ subnet: claimSubnet().v4 }]] };
  const plugins = [{ type: 'bridge', bridge, isGateway: false, ipam }];
  mkdirSync(`${root}/net.d`);
  writeFileSync(`${root}/net.d/10-test.conflist`, JSON.stringify({ cniVersion: '1.0.0', name: bridge, plugins }));
}

function skipReason(): string | false {
  if (process.getuid?.() !== 0) return 'needs root';
  const missing = NEEDED.filter((path) => !existsSync(path));
  return missing.length > 0 ? `not installed: ${missing.join(', ')}` : false;
}
