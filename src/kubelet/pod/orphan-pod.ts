import type { Pod } from '../../api/generated/core-v1.ts';

/** A pod without a spec: enough to terminate it and to clean up after it. */
export function orphanPod(uid: string, name: string, namespace: string): Pod {
  return { metadata: { uid, name, namespace }, spec: { containers: [] } };
}
