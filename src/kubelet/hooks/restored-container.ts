import { decodeManifest } from '../../api/decode/decode-manifest.ts';
import type { Container } from '../../api/generated/core-v1.ts';

const PRE_STOP = 'io.kubernetes.container.preStopHandler';
const PORTS = 'io.kubernetes.container.ports';

/**
 * Restores the part of a container's spec that its annotations hold: enough to run its preStop hook when its pod is no
 * longer known. Invalid annotations are ignored.
 */
export function restoreContainer(name: string, annotations: Readonly<Record<string, string>>): Container {
  const preStop = parsed(annotations[PRE_STOP]);
  const ports = parsed(annotations[PORTS]);
  const container = { name, ports, lifecycle: { preStop } };
  const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers: [container] } };
  // The manifest decoder validates the fields.
  const [pod] = decodeManifest(JSON.stringify(manifest), { file: '' }).pods;
  return pod?.object.spec.containers[0] ?? { name };
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
