/** The environment inside a container on the real runtime: users, capabilities, names, namespaces, resources. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { Pod } from '../../src/api/generated/core-v1.ts';
import { type CriConnection, connectCri } from '../../src/cri/client.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { podOf } from '../agent/memory-agent.ts';
import { EXITS_ON_SIGTERM, shell, startTestAgent, type TestAgent } from './agent-fixture.ts';
import { NOT_ON_CONTAINERD, ONLY_ON_CONTAINERD, runtimeSkipReason } from './runtime-fixture.ts';

const signal = new AbortController().signal;

suite('inside a container', { skip: runtimeSkipReason(), timeout: 900_000 }, () => {
  let it: TestAgent;
  let cri: CriConnection;
  let folder = '';

  before(async () => {
    it = await startTestAgent({
      clusterDns: ['10.0.0.10'],
      clusterDomain: 'cluster.local',
      nodeName: 'box',
      allowedUnsafeSysctls: ['kernel.msg*'],
      containerStopSignals: true,
      podPidsLimit: 512,
    });
    cri = connectCri(it.runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 120_000 });
    folder = it.runtime.folder;
  });
  after(async () => {
    cri.close();
    await it.stop();
  });

  const run = async (name: string, spec: Partial<Pod['spec']>): Promise<(line: string) => Promise<string>> => {
    const ready = it.ready(name);
    it.source.set(podOf(name, { containers: [shell('main', EXITS_ON_SIGTERM)], ...spec }));
    await ready;
    const { containers } = it.report(name).observed ?? {};
    const containerId = containers?.find((each) => each.name === 'main')?.id ?? '';
    return async (line) => {
      const answer = await cri.runtime.execSync({ containerId, cmd: ['sh', '-c', line], timeout: 120n }, signal);
      return Buffer.concat([answer.stdout, answer.stderr]).toString().trim();
    };
  };
  const main = (extra: Partial<Pod['spec']['containers'][number]>) => [
    { ...shell('main', EXITS_ON_SIGTERM), ...extra },
  ];

  test('runs as the requested user and groups', async () => {
    const inside = await run('user', {
      securityContext: { runAsUser: 1000, runAsGroup: 2000, supplementalGroups: [3000], fsGroup: 4000 },
      volumes: [{ name: 'data', emptyDir: {} }],
      containers: main({ volumeMounts: [{ name: 'data', mountPath: '/data' }] }),
    });
    assert.equal(await inside('id -u; id -g; id -G'), '1000\n2000\n2000 3000 4000');
    assert.equal(await inside('touch /data/mine && stat -c "%u %g" /data/mine'), '1000 4000');
  });

  test('has the requested capabilities, and no others', async () => {
    const inside = await run('rights', {
      containers: main({
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
          seccompProfile: { type: 'RuntimeDefault' },
        },
      }),
    });
    const field = async (name: string) => (await inside(`grep ^${name}: /proc/1/status`)).split('\t')[1];
    assert.equal(Number.parseInt((await field('CapEff')) ?? '', 16), 1 << 10);
    assert.equal(await field('NoNewPrivs'), '1');
    assert.equal(await field('Seccomp'), '2');
    assert.match(await inside('touch /mine'), /Read-only file system/);
  });

  test('a privileged container sees the devices of the machine', async () => {
    const inside = await run('privileged', { containers: main({ securityContext: { privileged: true } }) });
    assert.match(await inside('ls /dev'), /\bkmsg\b/);
  });

  test('resolves names as the DNS policy says', async () => {
    const cluster = await run('cluster-first', {});
    assert.equal(
      await cluster('cat /etc/resolv.conf'),
      'search default.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.0.0.10\noptions ndots:5',
    );
    const own = await run('none', {
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['192.0.2.53'], searches: ['example.test'], options: [{ name: 'ndots', value: '2' }] },
    });
    assert.equal(await own('cat /etc/resolv.conf'), 'search example.test\nnameserver 192.0.2.53\noptions ndots:2');
  });

  test('resolves its own hostname and host aliases', async () => {
    const inside = await run('named', {
      hostname: 'web',
      subdomain: 'site',
      hostAliases: [{ ip: '192.0.2.9', hostnames: ['friend', 'friend.test'] }],
    });
    const ip = it.report('named').status.podIP;
    assert.equal(await inside('hostname'), 'web');
    const hosts = await inside('cat /etc/hosts');
    assert.match(hosts, new RegExp(`^${ip}\tweb\\.site\\.default\\.svc\\.cluster\\.local\tweb$`, 'm'));
    assert.match(hosts, /^192\.0\.2\.9\tfriend\tfriend\.test$/m);
  });

  test('its hostname can be the FQDN, or any other', async () => {
    const full = await run('full', { hostname: 'web', subdomain: 'site', setHostnameAsFQDN: true });
    assert.equal(await full('hostname'), 'web.site.default.svc.cluster.local');
    const other = await run('other-name', { hostnameOverride: 'some.other.name' });
    assert.equal(await other('hostname'), 'some.other.name');
  });

  test("an FQDN that is too long for the kernel is reported with kubelet's message", async () => {
    const reported = it.next(
      (event) => event.kind === 'event' && event.event.reason === 'FailedCreatePodSandBox',
      'the name is too long',
    );
    const subdomain = 's'.repeat(40);
    it.source.set(podOf('long', { subdomain, setHostnameAsFQDN: true }));
    await reported;
    const fqdn = `long.${subdomain}.default.svc.cluster.local`;
    assert.equal(
      it.report('long').events.find(({ reason }) => reason === 'FailedCreatePodSandBox')?.message,
      'Failed to create pod sandbox: failed to construct FQDN from pod hostname and cluster domain, ' +
        `FQDN ${fqdn} is too long (64 characters is the max, ${fqdn.length} characters requested)`,
    );
  });

  test('is stopped with its stop signal', { skip: NOT_ON_CONTAINERD }, async () => {
    const container = shell('main', `trap 'exit 7' USR1; ${EXITS_ON_SIGTERM}`);
    await run('signal', {
      os: { name: 'linux' },
      containers: [{ ...container, lifecycle: { stopSignal: 'SIGUSR1' } }],
    });
    await it.listening('signal', 'main');
    assert.equal(it.report('signal').status.containerStatuses?.[0]?.stopSignal, 'SIGUSR1');
    const obeyed = it.next(
      (event) =>
        event.kind === 'status' &&
        event.pod.metadata.name === 'signal' &&
        event.status.containerStatuses?.[0]?.state?.terminated?.exitCode === 7,
      'it got its signal',
    );
    it.source.set();
    await obeyed;
  });

  test('an unsupported stop signal is reported', { skip: ONLY_ON_CONTAINERD }, async () => {
    await run('signal', { os: { name: 'linux' }, containers: main({ lifecycle: { stopSignal: 'SIGUSR1' } }) });
    const { events, status } = it.report('signal');
    assert.match(
      events.find(({ reason }) => reason === 'StopSignalIgnored')?.message ?? '',
      /^Container main asks to be stopped with SIGUSR1\. The runtime does not support that/,
    );
    assert.equal(status.containerStatuses?.[0]?.stopSignal, undefined);
  });

  test('its environment is expanded, with fields of its pod', async () => {
    const inside = await run('environment', {
      containers: main({
        env: [
          { name: 'A', value: 'a' },
          { name: 'B', value: '$(A)-$$(A)-$(NONE)' },
          { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
          { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } },
        ],
        resources: { limits: { cpu: '250m', memory: '64Mi' } },
      }),
    });
    assert.equal(
      await inside('echo "$A|$B|$POD|$IP|$CPU"'),
      `a|a-$(A)-$(NONE)|environment|${it.report('environment').status.podIP}|250`,
    );
  });

  test('has the cgroup limits of its resources, and so does its pod', async () => {
    const inside = await run('resources', {
      containers: main({
        resources: { requests: { cpu: '100m', memory: '32Mi' }, limits: { cpu: '250m', memory: '64Mi' } },
      }),
    });
    const path = (await inside('cat /proc/1/cgroup')).match(/memory:(\S+)|0::(\S+)/);
    assert.ok(path, 'has a control group');
    const own = readCgroup(path[1] ?? path[2] ?? '');
    assert.deepEqual(own, { memory: 64 * 2 ** 20, cpu: 0.25 });
    const pod = `${it.runtime.cgroupParent}/kubepods/burstable/pod${it.report('resources').pod.metadata.uid}`;
    assert.deepEqual(readCgroup(pod), { memory: 64 * 2 ** 20, cpu: 0.25 });
    assert.equal(readFirst(`pids${pod}/pids.max`, `${pod}/pids.max`), '512');
  });

  test('shares the requested namespaces', async () => {
    const shared = await run('shared-pid', {
      shareProcessNamespace: true,
      containers: [shell('main', EXITS_ON_SIGTERM), shell('other', EXITS_ON_SIGTERM)],
    });
    assert.match(await shared('ps'), /^ +1 root +\/(catatonit|pause) -P$/m);
    const host = await run('host', { hostNetwork: true, hostPID: true, dnsPolicy: 'Default' });
    assert.equal(await host('hostname'), hostname());
    assert.match(await host('ip link'), new RegExp(`nlt${process.pid}-`));
    assert.match(await host(`ls -d /proc/${process.pid}`), new RegExp(`/proc/${process.pid}`));
  });

  test('has its sysctls and hostPath volumes', async () => {
    const path = join(folder, 'shared.txt');
    writeFileSync(path, 'from the machine');
    const inside = await run('machine', {
      securityContext: {
        sysctls: [
          { name: 'net.ipv4.ip_unprivileged_port_start', value: '80' },
          { name: 'net/ipv4/tcp_syncookies', value: '0' },
          { name: 'kernel.msgmax', value: '4096' },
        ],
      },
      volumes: [
        { name: 'file', hostPath: { path, type: 'File' } },
        { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
      ],
      containers: main({
        volumeMounts: [
          { name: 'file', mountPath: '/shared.txt', readOnly: true },
          { name: 'memory', mountPath: '/memory' },
        ],
      }),
    });
    assert.equal(await inside('cd /proc/sys; cat net/ipv4/ip_unprivileged_port_start'), '80');
    assert.equal(await inside('cd /proc/sys; cat net/ipv4/tcp_syncookies kernel/msgmax'), '0\n4096');
    assert.equal(await inside('cat /shared.txt'), 'from the machine');
    assert.match(await inside('echo x > /shared.txt'), /Read-only file system/);
    assert.match(await inside('mount | grep " /memory "'), /tmpfs.*size=1024k/);
  });
});

/** Limits of a cgroup, of either version. */
function readCgroup(path: string): { memory: number; cpu: number } {
  const memory = Number(readFirst(`memory${path}/memory.limit_in_bytes`, `${path}/memory.max`));
  const [quota, period] = readFirst(`cpu${path}/cpu.cfs_quota_us`, `${path}/cpu.max`).split(' ');
  return { memory, cpu: Number(quota) / Number(period ?? readFirst(`cpu${path}/cpu.cfs_period_us`)) };
}

/** The file of the cgroup version that this machine has. */
function readFirst(...candidates: string[]): string {
  for (const file of candidates) {
    try {
      return readFileSync(`/sys/fs/cgroup/${file}`, 'utf8').trim();
    } catch {} // the file of the other version
  }
  throw new Error(`none of ${candidates.join(', ')}`);
}
