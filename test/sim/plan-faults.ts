import type { CriCode } from '../../src/cri/cri-error.ts';
import type { CriMethod } from '../../src/cri/services.ts';
import type { FileOperation } from '../../src/host/fake/memory-file-system.ts';
import type { ApiErrorReason } from '../../src/kubelet/api-client/api-server.ts';
import type { ApiVerb } from '../../src/kubelet/api-client/fake/api-faults.ts';
import type { Draw } from './draw.ts';
import type { ClusterFault } from './plan-cluster.ts';

/** What goes wrong with one rpc. */
export type RpcFault =
  /** It fails, and nothing has happened. */
  | { readonly kind: 'before'; readonly code: CriCode; readonly delayMs: number }
  /** It happens, but the caller is told that it failed, and can list nothing for so long. */
  | { readonly kind: 'after'; readonly code: CriCode; readonly delayMs: number; readonly blindMs: number }
  /** It happens after a while. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** It neither happens nor ends, until its deadline. */
  | { readonly kind: 'hang' }
  /** The agent dies right before it, and comes back after so long. */
  | { readonly kind: 'death'; readonly downMs: number };

/** What goes wrong with one call to the API server. */
export type PlannedApiFault =
  | { readonly kind: 'before' | 'after'; readonly reason: ApiErrorReason }
  | { readonly kind: 'delay'; readonly ms: number };

/** One misfortune. Those of calls and events hit the first one that comes after `at`. */
export type PlannedFault = { readonly at: number } & (
  | { readonly kind: 'rpc'; readonly method: CriMethod; readonly fault: RpcFault }
  /** Every rpc fails for so long, and every stream breaks. */
  | { readonly kind: 'runtimeDown'; readonly ms: number }
  | { readonly kind: 'file'; readonly operation: FileOperation; readonly code: 'EIO' | 'ENOSPC' }
  | { readonly kind: 'diskFull'; readonly ms: number }
  /** The disk with the images is used so far, for so long. */
  | { readonly kind: 'imageDisk'; readonly usedPercent: number; readonly ms: number }
  | { readonly kind: 'mount'; readonly operation: 'mount' | 'unmount'; readonly code: 'EBUSY' | 'EIO' }
  | { readonly kind: 'cgroup'; readonly operation: 'create' | 'update' | 'remove'; readonly code: 'EBUSY' | 'EIO' }
  | { readonly kind: 'api'; readonly verb: ApiVerb; readonly fault: PlannedApiFault }
  /** The API server cannot be reached for so long. */
  | { readonly kind: 'apiDown'; readonly ms: number }
  /** Every watch ends; with `forgets` none can go on where it was. */
  | { readonly kind: 'closeWatches'; readonly forgets: boolean }
  | { readonly kind: 'loseEvent' }
  | { readonly kind: 'delayEvent'; readonly ms: number }
  | { readonly kind: 'breakStreams' }
  | { readonly kind: 'jump'; readonly ms: number }
  /** The agent dies at the n-th call that it makes from then on, before it or after its effect. */
  | { readonly kind: 'kill'; readonly calls: number; readonly when: 'before' | 'after'; readonly downMs: number }
  /** The sandbox or the container at this place in the runtime's list ends by itself. */
  | { readonly kind: 'loseSandbox' | 'crash'; readonly place: number }
  | ClusterFault
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

/** All that goes wrong in a world until `untilMs`, by time. */
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
    ...sometimes(0.5, 4, () => ({ at: at(), kind: 'loseSandbox', place: draw.int(0, 999) })),
    ...sometimes(0.5, 5, () => ({ at: at(), kind: 'crash', place: draw.int(0, 999) })),
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

/** Calls in the middle of something that the next agent has to finish. */
const FATAL_METHODS: readonly [CriMethod, ...CriMethod[]] = [
  'reopenContainerLog',
  'reopenContainerLog',
  'execSync',
  'stopContainer',
  'removeContainer',
  'startContainer',
];

/** What goes wrong with volumes, logs and images. */
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
      return { at: at(), kind: 'rpc', method, fault: { kind, code, delayMs: 0, blindMs: 0 } };
    }),
    ...draw.several(0, 2, (): PlannedFault => {
      const method = draw.pick(FATAL_METHODS);
      return { at: at(), kind: 'rpc', method, fault: { kind: 'death', downMs: draw.int(100, 60_000) } };
    }),
    ...draw.several(0, 1, (): PlannedFault => {
      return { at: at(), kind: 'imageDisk', usedPercent: draw.int(86, 100), ms: draw.int(300_000, 1_200_000) };
    }),
  ];
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
    { kind: 'after', code, delayMs, blindMs: draw.chance(0.5) ? draw.int(1, 15_000) : 0 },
    { kind: 'slow', ms: draw.int(100, 60_000) },
    { kind: 'hang' },
  ]);
  // Nothing limits a pull but its own end.
  const isEndless = method === 'pullImage' && fault.kind === 'hang';
  return { at, kind: 'rpc', method, fault: isEndless ? { kind: 'slow', ms: 60_000 } : fault };
}
