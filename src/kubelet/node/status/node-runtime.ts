import type { NodeFeatures, NodeRuntimeHandler } from '../../../api/generated/core-v1.ts';
import { byCodePoint } from '../../../base/code-point-order.ts';
import type { RuntimeCondition, StatusResponse, VersionResponse } from '../../../cri/generated/runtime-v1.ts';

/** The runtime's part of the node status. */
export interface NodeRuntime {
  /** `containerd://1.6.20` */
  readonly version: string;
  readonly handlers: readonly NodeRuntimeHandler[];
  /** `undefined` for a runtime that does not report features. */
  readonly features: NodeFeatures | undefined;
}

/** The runtime's own errors. */
export interface RuntimeErrors {
  readonly runtime: string | undefined;
  readonly network: string | undefined;
}

/** Before the first response of the runtime. */
export const UNKNOWN_RUNTIME_ERRORS: RuntimeErrors = { runtime: undefined, network: 'network state unknown' };

/** Both with kubelet's messages. */
export function runtimeErrors({ status }: Pick<StatusResponse, 'status'>): RuntimeErrors {
  const find = (type: string): RuntimeCondition | undefined => status?.conditions.find((each) => each.type === type);
  const [runtime, network] = [find('RuntimeReady'), find('NetworkReady')];
  return {
    runtime: runtime?.status ? undefined : `container runtime not ready: ${conditionText(runtime)}`,
    network: network?.status ? undefined : `container runtime network not ready: ${conditionText(network)}`,
  };
}

function conditionText(condition: RuntimeCondition | undefined): string {
  if (!condition) return '<nil>';
  const { type, status, reason, message } = condition;
  return `${type}=${status} reason:${reason} message:${message}`;
}

export function nodeRuntimeHandlers({
  runtimeHandlers,
}: Pick<StatusResponse, 'runtimeHandlers'>): readonly NodeRuntimeHandler[] {
  return [...runtimeHandlers]
    .sort((a, b) => byCodePoint(a.name, b.name))
    .map(({ name, features }) => ({
      name,
      features: {
        recursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
        userNamespaces: features?.userNamespaces ?? false,
      },
    }));
}

/** The version as kubelet shows it, without a distribution's suffix. */
export function runtimeVersionText({ runtimeName, runtimeVersion }: VersionResponse): string {
  const semantic = /^\s*v?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)$/.exec(runtimeVersion)?.[1];
  const generic = /^\s*v?(\d+(?:\.\d+)+)/.exec(runtimeVersion)?.[1];
  return `${runtimeName}://${semantic ?? generic ?? 'Unknown'}`;
}
