import type { PodAdmitHandler } from './pod-admit-handler.ts';

/** Rejects pods that are made for another operating system. */
export const operatingSystemHandler: PodAdmitHandler = ({ metadata, spec }) => {
  const label = metadata.labels?.['kubernetes.io/os'];
  if (label !== undefined && label !== 'linux') {
    const message = "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label";
    return { reason: 'PodOSSelectorNodeLabelDoesNotMatch', message };
  }
  if (spec.os && spec.os.name !== 'linux') {
    return { reason: 'PodOSNotSupported', message: "Failed to admit pod as the OS field doesn't match node OS" };
  }
  return undefined;
};
