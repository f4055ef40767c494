import type { Pod, PodCertificateProjection } from '../../api/generated/core-v1.ts';
import { CausedError, type SourceUnavailable } from '../pod/pod-cause.ts';

/** A `podCertificate` source of a projected volume. */
export interface CertificateSource {
  readonly volume: string;
  /** The position among the sources of the volume. */
  readonly index: number;
  readonly projection: PodCertificateProjection;
}

/** A private key and its certificates, both in PEM. */
export interface PodCredentials {
  readonly key: string;
  /** The leaf first. */
  readonly chain: string;
}

/** The number of certificates of one signer in one state. */
export interface CertificateCount {
  readonly signerName: string;
  /** `fresh`, `overdue_for_refresh`, `expired`, `not_yet_issued`, `denied` or `failed`. */
  readonly state: string;
  readonly count: number;
}

/** The certificates of pods. Keys never leave memory, except into the volume of the pod. */
export interface PodCertificates {
  /**
   * Requests a certificate on the first call for a source, and renews it until the pod is forgotten. The pod is woken
   * when the credentials have changed. Rejects with a `PodCertificateError` while there are none.
   */
  credentials(pod: Pod, source: CertificateSource, signal: AbortSignal): Promise<PodCredentials>;
  /** Called when no container of the pod runs any more. */
  forget(uid: string): void;
  counts(): readonly CertificateCount[];
}

/** The credentials of a pod are not available. The message is kubelet's. */
export class PodCertificateError extends CausedError {
  override readonly name = 'PodCertificateError';
}

/** A node that cannot request certificates for pods. */
export function noPodCertificates(why: Exclude<SourceUnavailable, 'notServed'>): PodCertificates {
  return {
    async credentials() {
      throw new PodCertificateError('unimplemented', { kind: 'podCertificatesUnavailable', why });
    },
    forget() {},
    counts: () => [],
  };
}
