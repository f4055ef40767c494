import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { busyboxImage } from '../../src/app/images/local-images.ts';
import { ociArchive } from '../../src/app/images/oci-archive.ts';
import { goArchitecture } from '../../src/base/go/go-architecture.ts';
import { hasCode } from '../../src/cri/cri-error.ts';
import {
  type ContainerEventResponse,
  ContainerEventType,
  ContainerState,
  LinuxContainerResources,
  NamespaceMode,
  PodSandboxState,
  Signal,
  SupplementalGroupsPolicy,
  UpdateContainerResourcesRequest,
} from '../../src/cri/generated/runtime-v1.ts';
import { claimSubnet } from './claimed-subnet.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';
import { cgroupFolder, HANDLER, type PodChange, type Scene, sceneAround, signal, WAITS } from './runtime-pod.ts';
import { until } from './until.ts';

const GROUPS_IMAGE = 'localhost/nodelet/groups:1';
/** The host uid of root in a pod with a user namespace. */
const HOST_ID = 1_000_000;
const MAPPING = { containerId: 0, hostId: HOST_ID, length: 65_536 };
const USERS = { mode: NamespaceMode.POD, uids: [MAPPING], gids: [MAPPING] };
/** Waits on a FIFO, because the container may not write to its root file system. */
const SLEEPS = 'trap "exit 143" TERM; echo ready; sleep 1000 & wait';

describe('features of nodelet cri', { skip: embeddedSkipReason() }, () => {
  let scene: Scene;
  sceneAround(async (started) => {
    scene = started;
    const archive = join(scene.runtime.folder, 'groups.tar');
    writeFileSync(archive, ociArchive(groupsImage()).bytes);
    await scene.runtime.load(archive);
  });

  function withNamespaces(namespaceOptions: object): PodChange {
    return { linux: { securityContext: { namespaceOptions } } };
  }

  test('Status reports the features of the runtime', async () => {
    const { runtimeHandlers, features } = await scene.cri.runtime.status({ verbose: true }, signal);
    assert.equal(features?.supplementalGroupsPolicy, true);
    const usual = runtimeHandlers.find(({ name }) => name === HANDLER);
    assert.deepEqual(usual?.features, { recursiveReadOnlyMounts: true, userNamespaces: true });
  });

  test('user namespaces: root inside is unprivileged outside, and everything else works', async (t) => {
    const volume = join(scene.runtime.folder, 'volume-of-users');
    mkdirSync(volume);
    writeFileSync(join(volume, 'of-root'), 'kept');
    const pod = await scene.runPod(withNamespaces({ pid: NamespaceMode.CONTAINER, usernsOptions: USERS }));
    t.after(pod.remove);
    const mounts = [
      { hostPath: volume, containerPath: '/volume', uidMappings: [MAPPING], gidMappings: [MAPPING] },
      { image: { image: GROUPS_IMAGE }, containerPath: '/image', readonly: true },
    ];
    const id = await pod.startReady(WAITS, { mounts });
    const pid = await scene.pid(id);
    assert.match(readFileSync(`/proc/${pid}/status`, 'utf8'), new RegExp(`^Uid:\\s+${HOST_ID}\\s`, 'm'));
    assert.equal(await scene.ask(id, 'id -u; id -g'), '0\n0');
    assert.match(await scene.ask(id, 'cat /proc/self/uid_map'), new RegExp(`^\\s*0\\s+${HOST_ID}\\s+65536$`));
    assert.notEqual(statSync('/dev/null').uid, HOST_ID, 'what the node has stays its own');

    assert.equal(await scene.ask(id, 'stat -c %u:%g /root /etc/hosts /dev/shm /image/root | uniq'), '0:0');
    assert.equal(await scene.ask(id, 'stat -c %u /volume/of-root; cat /volume/of-root'), '0\nkept');
    await scene.ask(id, 'echo new > /volume/of-pod; chown 7:8 /volume/of-pod; echo x > /root/own');
    const { uid, gid } = statSync(join(volume, 'of-pod'));
    assert.deepEqual([uid, gid], [7, 8], 'a mapped volume keeps the ids as the pod sees them');

    assert.equal(await scene.ask(id, 'hostname'), pod.config.hostname);
    assert.equal(await addressInside(id), await addressOf(pod.id));
    await pod.start('nc -ll -p 80 -e echo hello');
    assert.equal(await firstWords(await addressOf(pod.id), 80), 'hello\n', 'root of the pod may use port 80');
  });

  test('supplemental groups: those of the image are merged, or omitted with Strict', async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const groupsWith = async (supplementalGroupsPolicy: SupplementalGroupsPolicy): Promise<unknown> => {
      const securityContext = {
        runAsUser: { value: 1000n },
        runAsGroup: { value: 3000n },
        supplementalGroups: [4000n],
        supplementalGroupsPolicy,
      };
      const id = await pod.startReady(SLEEPS, { image: { image: GROUPS_IMAGE }, linux: { securityContext } });
      const { user } = await scene.status(id);
      return { inside: await scene.ask(id, 'id -u; id -g; id -G'), reported: user?.linux };
    };
    assert.deepEqual(await groupsWith(SupplementalGroupsPolicy.Merge), {
      inside: '1000\n3000\n3000 4000 50000',
      reported: { uid: 1000n, gid: 3000n, supplementalGroups: [3000n, 4000n, 50_000n] },
    });
    assert.deepEqual(await groupsWith(SupplementalGroupsPolicy.Strict), {
      inside: '1000\n3000\n3000 4000',
      reported: { uid: 1000n, gid: 3000n, supplementalGroups: [3000n, 4000n] },
    });
  });

  test('a read-only mount leaves submounts writable, a recursive one does not', async (t) => {
    const outer = join(scene.runtime.folder, 'read-only');
    mkdirSync(join(outer, 'inner'), { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(outer, 'inner')]);
    t.after(() => execFileSync('umount', [join(outer, 'inner')]));
    const pod = await scene.runPod();
    const mounts = [
      { hostPath: outer, containerPath: '/plain', readonly: true },
      { hostPath: outer, containerPath: '/whole', readonly: true, recursiveReadOnly: true },
    ];
    const id = await pod.startReady(WAITS, { mounts });
    const touch = (path: string): Promise<string> => scene.ask(id, `touch ${path} 2> /dev/null && echo yes || echo no`);
    assert.deepEqual(await Promise.all(['/plain/x', '/plain/inner/x', '/whole/x', '/whole/inner/x'].map(touch)), [
      'no',
      'yes',
      'no',
      'no',
    ]);
    await pod.remove();
  });

  test('a container is stopped with the signal of its config or its image', async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const trap = 'trap "exit 11" TERM; trap "exit 12" USR1; trap "exit 13" QUIT; echo ready; sleep 1000 & wait';
    const own = await pod.startReady(trap, { stopSignal: Signal.SIGUSR1, image: { image: GROUPS_IMAGE } });
    const ofImage = await pod.startReady(trap, { image: { image: GROUPS_IMAGE } });
    const usual = await pod.startReady(trap);
    const exits = await Promise.all(
      [own, ofImage, usual].map(async (id) => {
        const { exitCode, stopSignal } = await scene.stopContainer(id, 20n);
        return [exitCode, stopSignal];
      }),
    );
    assert.deepEqual(exits, [
      [12, Signal.SIGUSR1],
      [13, Signal.SIGQUIT],
      [11, Signal.SIGTERM],
    ]);
  });

  test('containers share a PID namespace, have one each, or target another container', async (t) => {
    const sharing = await scene.runPod(withNamespaces({ pid: NamespaceMode.POD }));
    t.after(sharing.remove);
    const first = await sharing.startReady(SLEEPS);
    const second = await sharing.startReady('echo ready; exec sleep 4321');
    assert.match(await scene.ask(first, 'ps'), /sleep 4321/);
    assert.equal(await scene.ask(first, 'cat /proc/1/comm'), 'pause');
    const namespace = await scene.ask(first, 'readlink /proc/self/ns/pid');
    assert.equal(await scene.ask(second, 'readlink /proc/self/ns/pid'), namespace);

    const apart = await scene.runPod();
    t.after(apart.remove);
    const looked = await apart.startReady('echo ready; exec sleep 4321');
    const namespaceOptions = { pid: NamespaceMode.TARGET, targetId: looked };
    const looking = await apart.startReady(SLEEPS, { linux: { securityContext: { namespaceOptions } } });
    const alone = await apart.startReady(SLEEPS);
    assert.equal(await scene.ask(looking, 'tr "\\0" " " < /proc/1/cmdline'), 'sleep 4321');
    assert.equal(await scene.ask(alone, 'cat /proc/1/comm'), 'sh');
    assert.doesNotMatch(await scene.ask(alone, 'ps'), /4321/);
    await scene.stopContainer(looking, 10n);
    assert.equal((await scene.status(looked)).state, ContainerState.CONTAINER_RUNNING);
  });

  test('a pod can use network, PID and IPC namespaces of the node', async (t) => {
    const { NODE } = NamespaceMode;
    const pod = await scene.runPod(withNamespaces({ network: NODE, pid: NODE, ipc: NODE }));
    t.after(pod.remove);
    const id = await pod.startReady(SLEEPS);
    for (const kind of ['net', 'pid', 'ipc', 'uts']) {
      assert.equal(await scene.ask(id, `readlink /proc/self/ns/${kind}`), readlinkSync(`/proc/self/ns/${kind}`));
    }
    assert.notEqual(await scene.ask(id, 'readlink /proc/self/ns/mnt'), readlinkSync('/proc/self/ns/mnt'));
    assert.equal(await scene.ask(id, 'hostname'), hostname());
    assert.equal(await addressOf(pod.id), '');
    await scene.stopContainer(id, 10n);
  });

  test('sysctls are set in the pod and nowhere else', async (t) => {
    const path = '/proc/sys/net/ipv4/ip_unprivileged_port_start';
    const before = readFileSync(path, 'utf8');
    const sysctls = { 'net.ipv4.ip_unprivileged_port_start': '81', 'kernel.shm_rmid_forced': '1' };
    const namespaceOptions = { pid: NamespaceMode.CONTAINER };
    const pod = await scene.runPod({ linux: { sysctls, securityContext: { namespaceOptions } } });
    t.after(pod.remove);
    const id = await pod.startReady(WAITS);
    assert.equal(await scene.ask(id, `cat ${path} /proc/sys/kernel/shm_rmid_forced`), '81\n1');
    assert.equal(readFileSync(path, 'utf8'), before);
  });

  test('an image, or a directory of it, is a volume', async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const image = { image: GROUPS_IMAGE };
    const id = await pod.startReady(WAITS, {
      mounts: [
        { image, containerPath: '/image', readonly: true },
        { image, containerPath: '/part', readonly: true, imageSubPath: 'etc' },
      ],
    });
    const output = await scene.ask(
      id,
      'grep -c team /image/etc/group /part/group; touch /image/x 2> /dev/null || echo no',
    );
    assert.equal(output, '/image/etc/group:1\n/part/group:1\nno');
  });

  test('a device has its permissions, other devices are denied', async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const devices = [{ hostPath: '/dev/null', containerPath: '/dev/nodelet', permissions: 'r' }];
    const id = await pod.startReady(WAITS, { devices });
    const { rdev } = statSync('/dev/null');
    assert.equal(
      await scene.ask(id, 'stat -c %t:%T /dev/nodelet'),
      `${(rdev >> 8).toString(16)}:${(rdev & 255).toString(16)}`,
    );
    assert.equal(await scene.ask(id, 'cat /dev/nodelet | wc -c'), '0');
    assert.equal(
      await scene.ask(id, 'mknod /tmp/mem c 1 1 && (cat /tmp/mem > /dev/null) 2>&1 | head -c 100'),
      "cat: can't open '/tmp/mem': Operation not permitted",
    );
  });

  test('the kernel has the requested resources, also after an update', async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const resources = { cpuShares: 512n, cpuPeriod: 100_000n, cpuQuota: 50_000n, memoryLimitInBytes: 64n << 20n };
    const containerId = await pod.startReady(WAITS, { linux: { resources } });
    const cgroup = join(pod.config.linux?.cgroupParent ?? '', containerId);
    const before = kernelLimits(cgroup);
    assert.deepEqual(before, { memory: String(64 << 20), quota: '50000' });
    const linux = LinuxContainerResources.fromPartial({ memoryLimitInBytes: 96n << 20n, cpuQuota: 80_000n });
    await scene.cri.runtime.updateContainerResources(
      UpdateContainerResourcesRequest.fromPartial({ containerId, linux }),
      signal,
    );
    assert.deepEqual(kernelLimits(cgroup), { memory: String(96 << 20), quota: '80000' });
    const reported = (await scene.status(containerId)).resources?.linux;
    assert.deepEqual(
      [reported?.memoryLimitInBytes, reported?.cpuQuota, reported?.cpuPeriod, reported?.cpuShares],
      [96n << 20n, 80_000n, 100_000n, 512n],
    );
  });

  test('stats and metrics count the usage of a container', async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const { runtime } = scene.cri;
    const containerId = await pod.startReady(`dd if=/dev/zero of=/filled bs=1M count=4 2> /dev/null; ${WAITS}`);
    const { stats } = await runtime.containerStats({ containerId }, signal);
    assert.equal(stats?.attributes?.id, containerId);
    assert.ok((stats?.cpu?.usageCoreNanoSeconds?.value ?? 0n) > 0n);
    assert.ok((stats?.memory?.workingSetBytes?.value ?? 0n) > 0n);
    assert.ok((stats?.memory?.usageBytes?.value ?? 0n) > 0n);
    await until(async () => {
      const now = (await runtime.containerStats({ containerId }, signal)).stats;
      return (now?.writableLayer?.usedBytes?.value ?? 0n) >= 4n << 20n ? true : undefined;
    });

    const ofPod = (await runtime.podSandboxStats({ podSandboxId: pod.id }, signal)).stats;
    assert.equal(ofPod?.attributes?.id, pod.id);
    assert.ok((ofPod?.linux?.cpu?.usageCoreNanoSeconds?.value ?? 0n) > 0n);
    assert.ok((ofPod?.linux?.memory?.workingSetBytes?.value ?? 0n) > 0n);
    assert.equal(ofPod?.linux?.network?.defaultInterface?.name, 'eth0');
    assert.ok((ofPod?.linux?.process?.processCount?.value ?? 0n) > 0n);
    assert.deepEqual(
      ofPod?.linux?.containers.map(({ attributes }) => attributes?.id),
      [containerId],
    );

    const { descriptors } = await runtime.listMetricDescriptors({}, signal);
    const known = new Map(descriptors.map(({ name, labelKeys }) => [name, labelKeys.length]));
    assert.ok(known.has('container_cpu_usage_seconds_total') && known.has('container_memory_working_set_bytes'));
    const { podMetrics } = await runtime.listPodSandboxMetrics({}, signal);
    const mine = podMetrics.find(({ podSandboxId }) => podSandboxId === pod.id);
    const metrics = [...(mine?.metrics ?? []), ...(mine?.containerMetrics.flatMap((each) => each.metrics) ?? [])];
    assert.ok(metrics.length > 0);
    assert.deepEqual(
      mine?.containerMetrics.map((each) => each.containerId),
      [containerId],
    );
    const undescribed = metrics.filter(({ name, labelValues }) => known.get(name) !== labelValues.length);
    assert.deepEqual(undescribed, [], 'every metric has the labels of its description');
  });

  test('events report the lifecycle of a pod in order, each with the states of its time', async () => {
    const watching = new AbortController();
    const seen: ContainerEventResponse[] = [];
    const watch = (async () => {
      for await (const event of scene.cri.runtime.getContainerEvents({}, watching.signal)) seen.push(event);
    })();
    watch.catch(() => {}); // checked below
    // Only an event shows a client that it is subscribed.
    const first = await until(async () => {
      const probe = await scene.runPod();
      await probe.remove();
      return seen.length > 0 ? seen.length : undefined;
    });
    const pod = await scene.runPod();
    const id = await pod.start('exit 3');
    await scene.exited(id);
    await scene.cri.runtime.removeContainer({ containerId: id }, signal);
    await pod.remove();
    const names = Object.fromEntries(Object.entries(ContainerEventType).map(([name, value]) => [value, name]));
    const ofPod = () => seen.slice(first).filter(({ containerId }) => [id, pod.id].includes(containerId));
    await until(() => (ofPod().length >= 8 ? true : undefined));
    watching.abort(new Error('seen enough'));
    await assert.rejects(watch, /seen enough/);
    assert.deepEqual(
      ofPod().map(({ containerId, containerEventType, podSandboxStatus, containersStatuses }) => [
        containerId === id ? 'container' : 'pod',
        names[containerEventType],
        podSandboxStatus?.state,
        containersStatuses.map(({ state, exitCode }) => [state, exitCode]),
      ]),
      [
        ['pod', 'CONTAINER_CREATED_EVENT', PodSandboxState.SANDBOX_READY, []],
        ['pod', 'CONTAINER_STARTED_EVENT', PodSandboxState.SANDBOX_READY, []],
        ['container', 'CONTAINER_CREATED_EVENT', PodSandboxState.SANDBOX_READY, [[0, 0]]],
        ['container', 'CONTAINER_STARTED_EVENT', PodSandboxState.SANDBOX_READY, [[1, 0]]],
        ['container', 'CONTAINER_STOPPED_EVENT', PodSandboxState.SANDBOX_READY, [[2, 3]]],
        ['container', 'CONTAINER_DELETED_EVENT', PodSandboxState.SANDBOX_READY, []],
        ['pod', 'CONTAINER_STOPPED_EVENT', PodSandboxState.SANDBOX_NOTREADY, []],
        ['pod', 'CONTAINER_DELETED_EVENT', PodSandboxState.SANDBOX_NOTREADY, []],
      ],
    );
  });

  test('a container sees the files, name and limits of its pod', async (t) => {
    const pod = await scene.runPod({
      dnsConfig: { servers: ['10.0.0.10'], searches: ['svc.local'], options: ['ndots:5'] },
    });
    t.after(pod.remove);
    const id = await pod.startReady(SLEEPS, {
      linux: { securityContext: { readonlyRootfs: true, noNewPrivs: true } },
    });
    assert.equal(await scene.ask(id, 'hostname; cat /etc/hostname'), `${pod.config.hostname}\n${pod.config.hostname}`);
    assert.equal(
      await scene.ask(id, 'cat /etc/resolv.conf'),
      'search svc.local\nnameserver 10.0.0.10\noptions ndots:5',
    );
    assert.equal(await scene.ask(id, 'touch /x 2> /dev/null || echo no'), 'no');
    assert.match(await scene.ask(id, 'cat /proc/self/status'), /^NoNewPrivs:\t1$/m);
    assert.match(await scene.ask(id, 'grep " /dev/shm " /proc/mounts'), /^tmpfs|shm/);
  });

  test('a pod has an address of each IP family of its network, as soon as the configuration says so', async (t) => {
    const { folder, bridge } = scene.runtime;
    const path = join(folder, 'cni/05-dual.conflist');
    const network = JSON.parse(readFileSync(join(folder, 'cni/10-nodelet-test.conflist'), 'utf8'));
    const [plugin] = network.plugins;
    const ranges = [...plugin.ipam.ranges, [{ subnet: claimSubnet().v6 }]];
    const plugins = [{ ...plugin, ipam: { ...plugin.ipam, ranges } }];
    writeFileSync(path, JSON.stringify({ ...network, plugins, name: bridge }));
    t.after(() => rmSync(path));
    const addresses = await until(async () => {
      const pod = await scene.runPod();
      const { status } = await scene.cri.runtime.podSandboxStatus({ podSandboxId: pod.id, verbose: false }, signal);
      await pod.remove();
      return status?.network?.additionalIps.length ? status.network : undefined;
    });
    assert.match(addresses.ip, /^10\./);
    assert.match(addresses.additionalIps[0]?.ip ?? '', /^fd00:/);
  });

  test('the streaming lists return the same as the lists', async (t) => {
    const pods = await Promise.all([scene.runPod(), scene.runPod()]);
    t.after(() => Promise.all(pods.map((pod) => pod.remove())));
    const ids = await Promise.all(pods.map((pod) => pod.startReady(WAITS)));
    const { runtime, images } = scene.cri;
    const sandboxes = await Array.fromAsync(runtime.streamPodSandboxes({ filter: undefined }, signal));
    const containers = await Array.fromAsync(runtime.streamContainers({ filter: undefined }, signal));
    const stats = await Array.fromAsync(runtime.streamContainerStats({ filter: undefined }, signal));
    const podStats = await Array.fromAsync(runtime.streamPodSandboxStats({ filter: undefined }, signal));
    const metrics = await Array.fromAsync(runtime.streamPodSandboxMetrics({}, signal));
    const known = await Array.fromAsync(images.streamImages({ filter: undefined }, signal));
    const podIds = new Set(pods.map(({ id }) => id));
    assert.deepEqual(new Set(sandboxes.flatMap((part) => part.podSandboxes.map(({ id }) => id))), podIds);
    assert.deepEqual(new Set(containers.flatMap((part) => part.containers.map(({ id }) => id))), new Set(ids));
    const counted = stats.flatMap((part) => part.containerStats.map(({ attributes }) => attributes?.id));
    assert.deepEqual(new Set(counted), new Set(ids));
    const podsCounted = podStats.flatMap((part) => part.podSandboxStats.map(({ attributes }) => attributes?.id));
    assert.deepEqual(new Set(podsCounted), podIds);
    assert.deepEqual(
      new Set(metrics.flatMap((part) => part.podSandboxMetrics.map((each) => each.podSandboxId))),
      podIds,
    );
    const tags = known.flatMap((part) => part.images.flatMap(({ repoTags }) => repoTags));
    assert.ok(tags.includes(GROUPS_IMAGE));
  });

  test('a checkpoint is created, or the reason for its failure is returned', async (t) => {
    const pod = await scene.runPod();
    t.after(pod.remove);
    const containerId = await pod.startReady(WAITS);
    const location = join(scene.runtime.folder, 'checkpoint.tar');
    try {
      await scene.cri.runtime.checkpointContainer({ containerId, location, timeout: 20n }, signal);
      assert.ok(statSync(location).size > 0);
    } catch (error) {
      assert.ok(hasCode(error, 'Unimplemented'), String(error));
      assert.match(error.message, /^checkpoint is not possible here: .*criu/);
    }
    assert.equal((await scene.status(containerId)).state, ContainerState.CONTAINER_RUNNING);
  });

  async function addressOf(podSandboxId: string): Promise<string> {
    const { status } = await scene.cri.runtime.podSandboxStatus({ podSandboxId, verbose: false }, signal);
    return status?.network?.ip ?? '';
  }

  async function addressInside(containerId: string): Promise<string> {
    return /inet (\S+)\//.exec(await scene.ask(containerId, 'ip -4 addr show eth0'))?.[1] ?? '';
  }
});

/** Its user is in an own group, and it has a stop signal. */
function groupsImage(): Parameters<typeof ociArchive>[0] {
  const applets = execFileSync('/bin/busybox', ['--list'], { encoding: 'utf8' }).trim().split('\n');
  const plain = busyboxImage(goArchitecture(), readFileSync('/bin/busybox'), applets);
  const accounts: Readonly<Record<string, string>> = {
    'etc/passwd': 'root:x:0:0:root:/root:/bin/sh\ndev:x:1000:1000:dev:/:/bin/sh\n',
    'etc/group': 'root:x:0:\ndev:x:1000:\nteam:x:50000:dev\n',
  };
  const files = plain.files.map((file) => {
    const text = accounts[file.path];
    return text === undefined || file.kind !== 'file' ? file : { ...file, data: Buffer.from(text) };
  });
  const config = { ...plain.config, StopSignal: 'SIGQUIT' };
  return { ...plain, reference: GROUPS_IMAGE, files, config };
}

/** The first output of a server, once it listens. */
function firstWords(host: string, port: number): Promise<string> {
  return until(async () => {
    try {
      const socket = connect({ host, port });
      const chunks = await socket.toArray();
      return chunks.length > 0 ? Buffer.concat(chunks).toString() : undefined;
    } catch {
      return undefined; // the server does not listen yet
    }
  });
}

/** From the files of cgroup v1 or v2. */
function kernelLimits(cgroup: string): { memory: string; quota: string } {
  const read = (controller: string, v1: string, v2: string): string => {
    const folder = cgroupFolder(controller, cgroup);
    const isV1 = folder.startsWith(`/sys/fs/cgroup/${controller}/`);
    return readFileSync(join(folder, isV1 ? v1 : v2), 'utf8').trim();
  };
  const quota = read('cpu', 'cpu.cfs_quota_us', 'cpu.max').split(' ')[0] ?? '';
  return { memory: read('memory', 'memory.limit_in_bytes', 'memory.max'), quota };
}
