import type { CriCode } from '../../src/cri/cri-error.ts';
import type { CriMethod } from '../../src/cri/services.ts';
import type { FileOperation } from '../../src/host/fake/memory-file-system.ts';
import type { ApiErrorReason } from '../../src/kubelet/api-client/api-server.ts';
import type { ApiVerb } from '../../src/kubelet/api-client/fake/api-faults.ts';
import type { Draw } from './draw.ts';
import type { ClusterFault } from './plan-cluster.ts';
import type { DiskFault } from './plan-disks.ts';
import type { MachineFault } from './plan-machine.ts';
import type { PressureFault } from './plan-pressure.ts';

/** A fault of one CRI call. */
export type RpcFault =
  /** The call fails without effect. */
  | { readonly kind: 'before'; readonly code: CriCode; readonly delayMs: number }
  /** The call takes effect but returns an error, and list calls fail for a while. */
  | { readonly kind: 'after'; readonly code: CriCode; readonly delayMs: number; readonly listsFailMs: number }
  /** The call takes effect late. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** The call has no effect and ends at its deadline. */
  | { readonly kind: 'hang' }
  /** The agent is killed right before the call and restarted after `downMs`. */
  | { readonly kind: 'kill'; readonly downMs: number };

/** A fault of one call to the API server. */
export type PlannedApiFault =
  | { readonly kind: 'before' | 'after'; readonly reason: ApiErrorReason }
  | { readonly kind: 'delay'; readonly ms: number };

/** One fault. A fault of a call or an event affects the first one after `at`. */
export type PlannedFault = { readonly at: number } & (
  | { readonly kind: 'rpc'; readonly method: CriMethod; readonly fault: RpcFault }
  /** Every CRI call fails for `ms`, and every stream breaks. */
  | { readonly kind: 'runtimeDown'; readonly ms: number }
  | { readonly kind: 'file'; readonly operation: FileOperation; readonly code: 'EIO' | 'ENOSPC' }
  | { readonly kind: 'diskFull'; readonly ms: number }
  /** The image filesystem is used to this percentage for `ms`. */
  | { readonly kind: 'imageDisk'; readonly usedPercent: number; readonly ms: number }
  | { readonly kind: 'mount'; readonly operation: 'mount' | 'unmount'; readonly code: 'EBUSY' | 'EIO' }
  | { readonly kind: 'cgroup'; readonly operation: 'create' | 'update' | 'remove'; readonly code: 'EBUSY' | 'EIO' }
  | { readonly kind: 'api'; readonly verb: ApiVerb; readonly fault: PlannedApiFault }
  /** The API server is unreachable for `ms`. */
  | { readonly kind: 'apiDown'; readonly ms: number }
  /** Every watch ends; with `forgets` none can resume at its resource version. */
  | { readonly kind: 'closeWatches'; readonly forgets: boolean }
  | { readonly kind: 'loseEvent' }
  | { readonly kind: 'delayEvent'; readonly ms: number }
  | { readonly kind: 'breakStreams' }
  | { readonly kind: 'jump'; readonly ms: number }
  /** The agent is killed at its n-th call from then on, before the call or after its effect. */
  | { readonly kind: 'kill'; readonly calls: number; readonly when: 'before' | 'after'; readonly downMs: number }
  /** The sandbox or container at this index of the runtime's list ends by itself. */
  | { readonly kind: 'loseSandbox' | 'crash'; readonly index: number }
  | ClusterFault
  | DiskFault
  | PressureFault
  | MachineFault
);

const METHODS: readonly [CriMethod, ...CriMethod[]] = [
  'runPodSandbox',
  'runPodSandbox',
  'createContainer',
  'createContainer',
  'startContainer',
  'startContainer',
  'startContainer',
  'stopContainer',
  'stopContainer',
  'stopPodSandbox',
  'removeContainer',
  'removePodSandbox',
  'listContainers',
  'listPodSandbox',
  'containerStatus',
  'podSandboxStatus',
  'pullImage',
  'imageStatus',
  'execSync',
  'version',
];

const FILE_OPERATIONS: readonly [FileOperation, ...FileOperation[]] = [
  'writeFile',
  'writeAtomic',
  'makeDirectory',
  'readText',
  'readDirectory',
  'stat',
  'removeTree',
  'changeMode',
  'readRange',
];

/** Draws all faults of a world until `untilMs`, sorted by time. */
export function drawFaults(draw: Draw, untilMs: number): PlannedFault[] {
  const at = (): number => draw.int(0, untilMs);
  const sometimes = (probability: number, most: number, make: () => PlannedFault): PlannedFault[] =>
    draw.chance(probability) ? draw.several(1, most, make) : [];
  const faults: PlannedFault[] = [
    ...draw.several(10, 80, () => drawRpc(draw, at())),
    ...draw.several(0, 15, (): PlannedFault => {
      const operation = draw.pick(FILE_OPERATIONS);
      return { at: at(), kind: 'file', operation, code: 'EIO' };
    }),
    ...sometimes(0.3, 1, () => ({ at: at(), kind: 'diskFull', ms: draw.int(1_000, 180_000) })),
    ...sometimes(0.3, 1, () => ({ at: at(), kind: 'runtimeDown', ms: draw.int(1_000, 120_000) })),
    ...sometimes(0.3, 2, () => ({ at: at(), kind: 'mount', operation: draw.pick(['mount', 'unmount']), code: 'EIO' })),
    ...sometimes(0.3, 3, () => {
      const operation = draw.pick(['create', 'update', 'remove'] as const);
      return { at: at(), kind: 'cgroup', operation, code: 'EIO' };
    }),
    ...sometimes(0.6, 15, () => drawApi(draw, at())),
    ...sometimes(0.3, 2, () => ({ at: at(), kind: 'apiDown', ms: draw.int(1_000, 300_000) })),
    ...sometimes(0.4, 3, () => ({ at: at(), kind: 'closeWatches', forgets: draw.chance(0.5) })),
    ...sometimes(0.6, 20, () => ({ at: at(), kind: 'loseEvent' })),
    ...sometimes(0.6, 20, () => ({ at: at(), kind: 'delayEvent', ms: draw.int(1, 30_000) })),
    ...sometimes(0.5, 3, () => ({ at: at(), kind: 'breakStreams' })),
    ...sometimes(0.25, 2, () => ({ at: at(), kind: 'jump', ms: draw.int(-600_000, 600_000) })),
    ...sometimes(0.7, 6, () => drawKill(draw, at())),
    ...sometimes(0.5, 4, () => ({ at: at(), kind: 'loseSandbox', index: draw.int(0, 999) })),
    ...sometimes(0.5, 5, () => ({ at: at(), kind: 'crash', index: draw.int(0, 999) })),
  ];
  return faults.sort((a, b) => a.at - b.at);
}

const CONTENT_OPERATIONS: readonly [FileOperation, ...FileOperation[]] = [
  'writeFile',
  'symbolicLink',
  'rename',
  'remove',
  'readLink',
  'renameUnlessTaken',
  'compressFile',
];

/** Calls in the middle of an operation that the next agent process has to finish. */
const FATAL_METHODS: readonly [CriMethod, ...CriMethod[]] = [
  'reopenContainerLog',
  'reopenContainerLog',
  'execSync',
  'stopContainer',
  'removeContainer',
  'startContainer',
];

/** Draws faults of volumes, logs and images. */
export function drawMoreFaults(draw: Draw, untilMs: number): PlannedFault[] {
  const at = (): number => draw.int(0, untilMs);
  return [
    ...draw.several(0, 12, (): PlannedFault => {
      const code = draw.pick(['EIO', 'ENOSPC'] as const);
      return { at: at(), kind: 'file', operation: draw.pick(CONTENT_OPERATIONS), code };
    }),
    ...draw.several(0, 4, (): PlannedFault => {
      const verb = draw.pick<ApiVerb>(['list', 'watch', 'get']);
      return { at: at(), kind: 'api', verb, fault: { kind: 'before', reason: 'InternalError' } };
    }),
    ...draw.several(0, 3, (): PlannedFault => {
      const method = draw.pick<CriMethod>(['reopenContainerLog', 'execSync', 'removeImage', 'listImages']);
      const code = draw.pick<CriCode>(['Unknown', 'Unavailable']);
      const kind = draw.pick(['before', 'after'] as const);
      return { at: at(), kind: 'rpc', method, fault: { kind, code, delayMs: 0, listsFailMs: 0 } };
    }),
    ...draw.several(0, 2, (): PlannedFault => {
      const method = draw.pick(FATAL_METHODS);
      return { at: at(), kind: 'rpc', method, fault: { kind: 'kill', downMs: draw.int(100, 60_000) } };
    }),
    ...draw.several(0, 1, (): PlannedFault => {
      return { at: at(), kind: 'imageDisk', usedPercent: draw.int(86, 100), ms: draw.int(300_000, 1_200_000) };
    }),
  ];
}

/** Draws faults of giving volumes to their group. */
export function drawGroupFaults(draw: Draw, untilMs: number): PlannedFault[] {
  return draw.several(0, 4, (): PlannedFault => {
    return { at: draw.int(0, untilMs), kind: 'file', operation: 'setTreeGroup', code: 'EIO' };
  });
}

function drawKill(draw: Draw, at: number): PlannedFault {
  const calls = draw.chance(0.2) ? 0 : draw.int(1, 60);
  const downMs = draw.pick([100, 1_000, draw.int(1_000, 60_000), draw.int(1_000, 300_000)]);
  return { at, kind: 'kill', calls, when: draw.pick(['before', 'after']), downMs };
}

function drawApi(draw: Draw, at: number): PlannedFault {
  const verb = draw.pick<ApiVerb>(['patch', 'patch', 'patch', 'delete', 'create', 'list', 'watch', 'get']);
  const reason = draw.pick<ApiErrorReason>(['Unavailable', 'InternalError', 'TooManyRequests', 'Conflict']);
  const fault = draw.pick<PlannedApiFault>([
    { kind: 'before', reason },
    { kind: 'after', reason: 'Unavailable' },
    { kind: 'delay', ms: draw.int(1, 30_000) },
  ]);
  return { at, kind: 'api', verb, fault };
}

function drawRpc(draw: Draw, at: number): PlannedFault {
  const method = draw.pick(METHODS);
  const code = draw.pick(['Unknown', 'Unavailable', 'DeadlineExceeded'] as const);
  const delayMs = draw.chance(0.5) ? 0 : draw.int(1, 5_000);
  const fault = draw.pick<RpcFault>([
    { kind: 'before', code, delayMs },
    { kind: 'after', code, delayMs, listsFailMs: draw.chance(0.5) ? draw.int(1, 15_000) : 0 },
    { kind: 'slow', ms: draw.int(100, 60_000) },
    { kind: 'hang' },
  ]);
  // A pull has no deadline.
  const isEndless = method === 'pullImage' && fault.kind === 'hang';
  return { at, kind: 'rpc', method, fault: isEndless ? { kind: 'slow', ms: 60_000 } : fault };
}
