import { CLUSTER_MUTATIONS } from './cluster-mutations.ts';
import { FEATURE_MUTATIONS } from './feature-mutations.ts';
import { MACHINE_MUTATIONS } from './machine-mutations.ts';
import { change, type Mutation, mutation } from './mutation.ts';

const WORKERS = 'src/kubelet/workers/pod-workers.ts';
const WORKER = 'src/kubelet/workers/pod-worker.ts';
const WORKER_STATE = 'src/kubelet/workers/pod-worker-state.ts';
const ACTIVE_PODS = 'src/kubelet/admission/active-pods.ts';
const SYNC_LOOP = 'src/kubelet/sync-loop.ts';
const SYNCER = 'src/kubelet/sync/create-pod-syncer.ts';
const EXECUTION = 'src/kubelet/sync/execute-pod-plan.ts';
const STARTS = 'src/kubelet/sync/start-containers.ts';
const ACTIONS = 'src/kubelet/sync/compute-pod-actions.ts';
const INIT = 'src/kubelet/sync/plan-init-containers.ts';
const STOP = 'src/kubelet/sync/stop-pod.ts';
const OBSERVED = 'src/kubelet/pleg/observed-pods.ts';
const COLLECTOR = 'src/kubelet/gc/container-collector.ts';
const DEAD = 'src/kubelet/gc/dead-containers.ts';

export const MUTATIONS: readonly Mutation[] = [
  mutation('a grace period grows', WORKER_STATE, 'Math.min(before?.graceSeconds', 'Math.max(before?.graceSeconds'),
  mutation('a pod starts beside another pod of the same name', WORKERS, 'if (queue.length === 0) worker', 'worker'),
  mutation('a recreated pod is forgotten', WORKERS, 'if (worker.successor) {', 'if (!worker) {'),
  mutation('terminating a pod does not abort its sync', WORKER, 'this.#pass?.abort(', 'void ('),
  mutation('containers are not stopped before they are removed', WORKER, 'await syncer.terminate(', 'void ('),
  mutation('a failed sync is not retried', WORKER, 'this.#wakeIn(retryDelay(', 'void (retryDelay('),
  mutation(
    'orphans are terminated before every source has reported',
    SYNC_LOOP,
    '#deps.sources.every(',
    '#deps.sources.some(',
  ),
  mutation('orphans get a grace period of 30 s', SYNC_LOOP, 'ORPHAN_GRACE_SECONDS = 1', 'ORPHAN_GRACE_SECONDS = 30'),
  mutation('orphans are not terminated', SYNC_LOOP, 'if (!isWanted) workers', 'if (!uid) workers'),
  mutation('init containers count as done', INIT, "? 'done' : 'running'", "? 'done' : 'done'"),
  mutation('init containers of a previous sandbox count', EXECUTION, 'await removeInitContainers(', 'void ('),
  mutation(
    'ephemeral containers are started again',
    ACTIONS,
    '!containers.has(name)',
    "!containers.get(name) || containers.get(name)?.state === 'exited'",
  ),
  mutation(
    'a succeeded container is restarted',
    ACTIONS,
    'view.spec, observed.exitCode)',
    'view.spec, observed.exitCode || 1)',
  ),
  mutation('a pod that never restarts gets a new sandbox', ACTIONS, "=== 'Never' && attempt", "=== 'No' && attempt"),
  mutation(
    'a changed definition is ignored',
    ACTIONS,
    'observed.hash !== containerHash(container)',
    'observed.hash === ""',
  ),
  mutation('back-off is ignored', STARTS, 'checkCrashBackoff(context, container, deps);', ''),
  mutation(
    'a new sandbox is created beside the old one',
    EXECUTION,
    'await stopPod(pod, observed, specGracePeriod(pod), deps, signal);\n  // In',
    'await stopPod(pod, undefined, specGracePeriod(pod), deps, signal);\n  // In',
  ),
  mutation(
    'the pod is not observed after an operation',
    SYNCER,
    'await observed.refresh(uid, signal));\n    }',
    'observed.get(uid));\n    }',
  ),
  mutation('pod resources are not released', SYNCER, 'await step.release(', 'void ('),
  mutation('containers get no grace period', STOP, 'BigInt(Math.max(MINIMUM_GRACE_SECONDS, left))', '0n'),
  mutation('sandboxes are stopped before their containers', STOP, 'stopOrder(pod, live)', 'stopOrder(pod, [])'),
  mutation('a failed relist keeps the previous state as current', OBSERVED, 'this.#stale.add(uid);', ''),
  mutation('container exits that arrive early are lost', OBSERVED, 'this.#earlyStops.add(id);', ''),
  mutation('dead containers pile up', COLLECTOR, 'container } of dead) {', 'container } of dead.slice(0, 0)) {'),
  mutation('dead containers that a pod worker needs are removed', DEAD, '.slice(keep)', '.slice(0)'),
  mutation('runtime events are ignored', OBSERVED, 'await this.#refreshOrNotify(uid, signal);', ''),
  {
    name: 'a terminal phase changes',
    changes: [
      change('src/kubelet/status/status-store.ts', '!isTerminal(before.phase)', 'before.phase'),
      change(
        'src/kubelet/status/compute-pod-status.ts',
        'if (isTerminal(final)) return final;',
        'if (!final) continue;',
      ),
    ],
  },
  {
    name: 'a pod that is replaced counts against its replacement',
    changes: [
      change(ACTIVE_PODS, 'if (removed) return successor', 'if (!worker) return successor'),
      change(ACTIVE_PODS, 'podFullName(other) !== fullName', 'other !== pod'),
    ],
  },
  mutation('a recreated pod is not admitted again', SYNC_LOOP, 'if (!this.#closed) this.#add(pod)', 'void pod'),
  ...FEATURE_MUTATIONS,
  ...CLUSTER_MUTATIONS,
  ...MACHINE_MUTATIONS,
];
