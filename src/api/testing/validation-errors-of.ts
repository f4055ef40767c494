import { decodeManifest } from '../decode/decode-manifest.ts';
import { defaultPod } from '../defaults/default-pod.ts';
import { formatFieldError } from '../validation/field-error.ts';
import { validatePod } from '../validation/validate-pod.ts';

/** What a test changes in a pod with nothing wrong with it. */
export interface PodChange {
  readonly metadata?: object;
  readonly spec?: object;
  /** Its only container. */
  readonly container?: object;
  /** An init container beside it. */
  readonly init?: object;
  /** A volume named `v`. */
  readonly volume?: object;
}

/** What the API server would say to a pod named `web` in `default` after one change. */
export function validationErrorsOf({ metadata, spec, container, init, volume }: PodChange): string[] {
  const healthy = { name: 'web', image: 'busybox:1' };
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', ...metadata },
    spec: {
      containers: [{ ...healthy, ...container }],
      ...(init && { initContainers: [{ ...healthy, name: 'init', ...init }] }),
      ...(volume && { volumes: [{ name: 'v', ...volume }] }),
      ...spec,
    },
  };
  const { pods, errors } = decodeManifest(JSON.stringify(pod), { file: 'pod.json' });
  if (errors.length > 0) throw new Error(`the test's pod cannot be decoded: ${errors[0]?.message}`);
  return pods.flatMap(({ object }) => validatePod(defaultPod(object))).map(formatFieldError);
}
