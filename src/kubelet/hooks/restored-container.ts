import { decodeManifest } from '../../api/decode/decode-manifest.ts';
import type { Container } from '../../api/generated/core-v1.ts';

const PRE_STOP = 'io.kubernetes.container.preStopHandler';
const PORTS = 'io.kubernetes.container.ports';

/**
 * What of a container's spec stands in the annotations that it was made with: enough to run its preStop hook when its
 * pod is not known any more. What cannot be read is left out.
 */
export function restoreContainer(name: string, annotations: Readonly<Record<string, string>>): Container {
  const preStop = parsed(annotations[PRE_STOP]);
  const ports = parsed(annotations[PORTS]);
  const container = { name, ports, lifecycle: { preStop } };
  const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers: [container] } };
  // The decoder of manifests knows what fits the fields.
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
