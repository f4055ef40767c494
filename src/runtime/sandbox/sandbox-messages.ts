import { goJson } from '../../cri/cri-message-json.ts';
import { type PodSandbox, PodSandboxState, PodSandboxStatus } from '../../cri/generated/runtime-v1.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';

export function criSandboxState({ state }: SandboxRecord): PodSandboxState {
  return state.phase === 'ready' ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
}

export function sandboxMessage(record: SandboxRecord): PodSandbox {
  const { id, config, createdAtNs, runtimeHandler } = record;
  const { metadata, labels, annotations } = config;
  const state = criSandboxState(record);
  return { id, metadata, state, createdAt: createdAtNs, labels, annotations, runtimeHandler };
}

export function sandboxStatusMessage(record: SandboxRecord): PodSandboxStatus {
  const [ip = '', ...others] = record.ips;
  return PodSandboxStatus.fromPartial({
    ...sandboxMessage(record),
    network: { ip, additionalIps: others.map((other) => ({ ip: other })) },
    linux: { namespaces: { options: record.config.linux?.securityContext?.namespaceOptions ?? {} } },
  });
}

/** Verbose status for `crictl inspectp`, in containerd's format. */
export function sandboxInfo(record: SandboxRecord): Record<string, string> {
  const { state, config, namespaces, runtimeHandler, networkResults, pausePid = 0 } = record;
  const info = {
    pid: state.phase === 'ready' ? pausePid : 0,
    processStatus: state.phase === 'ready' ? 'running' : 'deleted',
    netNamespaceClosed: state.phase === 'notReady' && state.networkDown,
    runtimeHandler,
    config: goJson(config),
    cniResult: networkResults,
    namespaces,
    state,
  };
  return { info: JSON.stringify(info, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)) };
}
