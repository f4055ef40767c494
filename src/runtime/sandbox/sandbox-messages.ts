import { goJson } from '../../cri/cri-message-json.ts';
import { type PodSandbox, PodSandboxState, PodSandboxStatus } from '../../cri/generated/runtime-v1.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';

export function sandboxStateOf({ life }: SandboxRecord): PodSandboxState {
  return life.phase === 'ready' ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY;
}

export function sandboxMessage(record: SandboxRecord): PodSandbox {
  const { id, config, createdAtNs, runtimeHandler } = record;
  const { metadata, labels, annotations } = config;
  const state = sandboxStateOf(record);
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

/** What `crictl inspectp` shows beside the status, in the form in which containerd tells it. */
export function sandboxInfo(record: SandboxRecord): Record<string, string> {
  const { life, config, namespaces, runtimeHandler, networkResults, pausePid = 0 } = record;
  const info = {
    pid: life.phase === 'ready' ? pausePid : 0,
    processStatus: life.phase === 'ready' ? 'running' : 'deleted',
    netNamespaceClosed: life.phase === 'notReady' && life.networkDown,
    runtimeHandler,
    config: goJson(config),
    cniResult: networkResults,
    namespaces,
    state: life,
  };
  return { info: JSON.stringify(info, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)) };
}
