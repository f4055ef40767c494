/** The node object compared with that of kubelet v1.36.4, recorded on this kind of machine with the same runtime. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path/posix';
import { test } from 'node:test';
import type { Lease, Node } from '../../src/api/generated/core-v1.ts';
import { byCodePoint } from '../../src/base/code-point-order.ts';
import { silentLog } from '../../src/base/log.ts';
import { parseQuantity } from '../../src/base/quantity.ts';
import { Image, StatusResponse, VersionResponse } from '../../src/cri/generated/runtime-v1.ts';
import { createMemoryHost } from '../../src/host/fake/memory-host.ts';
import { createMemoryApiServer } from '../../src/kubelet/api-client/fake/memory-api-server.ts';
import { NodePressure } from '../../src/kubelet/eviction/node-pressure.ts';
import { NodeAttachments } from '../../src/kubelet/node/attachments/node-attachments.ts';
import { leaseKey } from '../../src/kubelet/node/lease/node-lease.ts';
import { createNodeManager } from '../../src/kubelet/node/lifecycle/node-manager.ts';
import { NodeCache, nodeKey } from '../../src/kubelet/node/node-cache.ts';
import type { NodeSettings } from '../../src/kubelet/node/node-settings.ts';
import { NodeGatherer } from '../../src/kubelet/node/status/gather-node.ts';
import { RuntimeReadiness } from '../../src/kubelet/node/status/runtime-readiness.ts';
import { STORAGE_READY } from '../../src/kubelet/node/storage-readiness.ts';
import { differences } from './node-differences.ts';
import { NODE } from './node-world.ts';

interface Recording {
  readonly node: Node;
  readonly lease: Lease;
  readonly events: readonly { readonly reason: string; readonly message: string }[];
}

const RECORDED: Recording = JSON.parse(readFileSync(new URL('./node-recorded.json', import.meta.url), 'utf8'));
const FOREVER = new AbortController().signal;
const KIB = 1024;
const NAME = 'golden-node';

const SETTINGS: NodeSettings = {
  ...NODE,
  nodeName: NAME,
  nodeIps: ['192.0.2.2'],
  thresholds: [{ signal: 'memory.available', value: { quantity: parseQuantity('1Mi') }, gracePeriodMs: 0 }],
  kubeletPort: RECORDED.node.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0,
};

const FILES = {
  '/etc/machine-id': '3d1219c7c4c5404aaa1f6d2a48adfda4\n',
  '/proc/sys/kernel/random/boot_id': '28319668-bd43-4697-8129-bcb3afd1ffb8\n',
  '/proc/sys/kernel/osrelease': '6.18.44-fc-v490\n',
  '/etc/os-release': 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\n',
  '/proc/meminfo': 'MemTotal:       24684100 kB\nMemFree:        17931232 kB\nSwapTotal:             0 kB\n',
  '/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages': '0\n',
  '/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages': '0\n',
};

const conditions = ['RuntimeReady', 'NetworkReady'].map((type) => ({ type, status: true }));
const runtime = {
  status: async () => StatusResponse.fromPartial({ status: { conditions } }),
  version: async () => VersionResponse.fromPartial({ runtimeName: 'containerd', runtimeVersion: '1.6.20~ds1' }),
};
const images = {
  listImages: async () => ({
    images: (RECORDED.node.status?.images ?? [])
      .toReversed()
      .map(({ names = [], sizeBytes = 0 }) =>
        Image.fromPartial({ id: names[0] ?? '', repoTags: [...names], size: BigInt(sizeBytes) }),
      ),
  }),
  imageFsInfo: async () => ({ imageFilesystems: [], containerFilesystems: [] }),
};

/** The node, its lease and the reasons of its events, on a machine like the recorded one. */
async function createNode(): Promise<{ node: Node; lease: Lease; reasons: readonly string[] }> {
  const host = createMemoryHost();
  const { clock, random, fs } = host;
  for (const [path, text] of Object.entries(FILES)) {
    await fs.makeDirectory(dirname(path));
    await fs.writeFile(path, text);
  }
  await fs.makeDirectory(SETTINGS.rootDir);
  fs.setUsage(SETTINGS.rootDir, {
    capacityBytes: 264_212_084 * KIB,
    availableBytes: 75_565_551_616,
    inodes: 16_777_216,
    inodesFree: 16_000_000,
  });
  host.addresses.set('192.0.2.2');
  const api = createMemoryApiServer({ clock, random });
  const log = silentLog;
  const readiness = new RuntimeReadiness({ runtime, clock, log });
  const size = { cpuCount: 2, memoryBytes: 24_684_100 * KIB };
  const memory = { memoryBytes: size.memoryBytes, podsMemoryBytes: size.memoryBytes };
  const pressure = new NodePressure({ ...SETTINGS, ...memory }, { ...host, images, log });
  const gatherer = new NodeGatherer(SETTINGS, size, { ...host, images, pressure, readiness, storage: STORAGE_READY });
  const reasons: string[] = [];
  const events = { record: (_type: string, reason: string) => void reasons.push(reason) };
  const life = new AbortController();
  const cache = new NodeCache(NAME);
  const attachments = new NodeAttachments({ cache, findOnDisk: async () => [], log });
  const storage = STORAGE_READY;
  const deps = { api, gatherer, readiness, storage, pressure, attachments, events, clock, random, log, cache };
  const done = createNodeManager(SETTINGS, deps).run(life.signal);
  await clock.advance(0);
  const [node, lease] = [await api.get(nodeKey(NAME), FOREVER), await api.get(leaseKey(NAME), FOREVER)];
  life.abort(new Error('over'));
  await clock.runUntil(done);
  return { node, lease, reasons };
}

const WHEN_AND_WHICH = 'each run has its own times and ids';
const SERVER = 'the admission plugin TaintNodesByCondition of kube-apiserver, which the server in memory has not';

const EXPECTED: Readonly<Record<string, string>> = {
  'metadata.creationTimestamp': WHEN_AND_WHICH,
  'metadata.resourceVersion': WHEN_AND_WHICH,
  'metadata.uid': WHEN_AND_WHICH,
  'spec.taints.0.effect': SERVER,
  'spec.taints.0.key': SERVER,
  ...Object.fromEntries(
    ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'].flatMap((type) =>
      ['lastHeartbeatTime', 'lastTransitionTime'].map((field) => [
        `status.conditions.${type}.${field}`,
        WHEN_AND_WHICH,
      ]),
    ),
  ),
};

test('the node matches kubelet’s, except for explained differences', async () => {
  const { node } = await createNode();
  assert.deepEqual(differences(node, RECORDED.node), Object.keys(EXPECTED).sort(byCodePoint));
});

test('the lease matches kubelet’s', async () => {
  const { lease } = await createNode();
  assert.deepEqual(differences(lease, RECORDED.lease), [
    'metadata.creationTimestamp',
    'metadata.ownerReferences.0.uid',
    'metadata.resourceVersion',
    'metadata.uid',
    'spec.renewTime',
  ]);
});

const EVENTS_OF_OTHERS: Readonly<Record<string, string>> = {
  Starting: 'written by the agent at start-up, with the events about cgroups',
  CgroupV1: 'written by the agent at start-up',
  InvalidDiskCapacity: 'kubelet looks at the disk of the images before it knows its size; Nodelet does not',
  NodeAllocatableEnforced: 'written by the agent at start-up',
};

test('the events match kubelet’s, except for explained differences', async () => {
  const { reasons } = await createNode();
  const recorded = RECORDED.events.map(({ reason }) => reason).filter((reason) => !(reason in EVENTS_OF_OTHERS));
  assert.deepEqual([...reasons], recorded);
});
