import type { Container, Pod, PodSpec } from '../../../api/generated/core-v1.ts';

export interface PodChanges {
  readonly metadata?: Partial<Pod['metadata']>;
  readonly spec?: Partial<PodSpec>;
  /** Changes of its only container. */
  readonly container?: Partial<Container>;
}

/** A pod as the API server sends it, with one container `web`. */
export function examplePod({ metadata, spec, container }: PodChanges = {}): Pod {
  return {
    metadata: { name: 'hello', namespace: 'default', uid: 'u1', ...metadata },
    spec: {
      containers: [{ ...exampleContainer, ...container }],
      dnsPolicy: 'ClusterFirst',
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      securityContext: {},
      ...spec,
    },
  };
}

export const exampleContainer: Container = {
  name: 'web',
  image: 'busybox',
  imagePullPolicy: 'IfNotPresent',
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
};
