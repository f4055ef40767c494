import type { Pod, PodCertificateRequest } from '../../api/generated/core-v1.ts';
import { Semaphore } from '../../base/semaphore.ts';
import type { ApiServer } from '../api-client/api-server.ts';
import { type ObjectChange, type ReflectorDeps, runReflector } from '../api-client/reflector.ts';
import { metricsState } from './certificate-state.ts';
import { ManagedCertificate, type ManagedCertificateDeps } from './managed-certificate.ts';
import type { CertificateCount, CertificateSource, PodCertificates, PodCredentials } from './pod-certificates.ts';

export interface IssuedCertificatesDeps
  extends Omit<ManagedCertificateDeps, 'find' | 'api' | 'keyGeneration'>,
    ReflectorDeps {
  readonly api: Pick<ApiServer, 'get' | 'create' | 'list' | 'watch'>;
}

/**
 * Certificates that signers of the cluster issue for pods, by PodCertificateRequests.
 *
 * 1. Each source of a pod has its own key and its own requests. Nothing is stored: after a restart of the agent every
 *    source gets a new key and a new request.
 * 2. A denied or failed request is permanent for the pod.
 * 3. A pod keeps its credentials while a renewal is pending, even after they have expired.
 */
export class IssuedCertificates implements PodCertificates {
  readonly #deps: IssuedCertificatesDeps;
  readonly #life: AbortSignal;
  /** By pod UID, then by volume and source. */
  readonly #pods = new Map<string, PodEntry>();
  /** One key at a time, as kubelet: after a restart of the agent every pod needs a new one. */
  readonly #keyGeneration = new Semaphore(1);
  /** By namespace and name. */
  #requests = new Map<string, PodCertificateRequest>();

  /** Requests end when `life` aborts. */
  constructor(deps: IssuedCertificatesDeps, life: AbortSignal) {
    this.#deps = deps;
    this.#life = life;
  }

  /** Watches the requests of this node until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const fieldSelector = `spec.nodeName=${this.#deps.nodeName}`;
    const handler = {
      onList: (all: readonly PodCertificateRequest[]) => {
        this.#requests = new Map(all.map((request) => [requestKey(request.metadata), request]));
        for (const uid of this.#pods.keys()) this.#wake(uid);
      },
      onChange: ({ type, object }: ObjectChange<PodCertificateRequest>) => {
        if (type === 'DELETED') this.#requests.delete(requestKey(object.metadata));
        else this.#requests.set(requestKey(object.metadata), object);
        this.#wake(object.spec.podUID);
      },
    };
    await runReflector({ resource: 'podcertificaterequests', fieldSelector }, handler, this.#deps, signal);
  }

  credentials(pod: Pod, source: CertificateSource, signal: AbortSignal): Promise<PodCredentials> {
    const { uid } = pod.metadata;
    const entry = this.#pods.get(uid) ?? { certificates: new Map(), end: new AbortController() };
    this.#pods.set(uid, entry);
    const key = JSON.stringify([source.volume, source.index]);
    const known = entry.certificates.get(key);
    known?.setPod(pod);
    const certificate = known ?? this.#start(pod, source, entry);
    entry.certificates.set(key, certificate);
    return certificate.credentials(signal);
  }

  forget(uid: string): void {
    this.#pods.get(uid)?.end.abort();
    this.#pods.delete(uid);
  }

  counts(): readonly CertificateCount[] {
    const counts = new Map<string, CertificateCount>();
    for (const { certificates } of this.#pods.values()) {
      for (const { source, state: current } of certificates.values()) {
        const { signerName } = source.projection;
        const state = metricsState(current, this.#deps.clock.now());
        const key = `${signerName} ${state}`;
        counts.set(key, { signerName, state, count: (counts.get(key)?.count ?? 0) + 1 });
      }
    }
    return [...counts.values()];
  }

  #start(pod: Pod, source: CertificateSource, { end }: PodEntry): ManagedCertificate {
    const find: ManagedCertificateDeps['find'] = (namespace, name) => this.#requests.get(`${namespace}/${name}`);
    const certificate = new ManagedCertificate(pod, source, {
      ...this.#deps,
      keyGeneration: this.#keyGeneration,
      find,
    });
    void certificate.run(AbortSignal.any([this.#life, end.signal]));
    return certificate;
  }

  #wake(uid: string): void {
    for (const certificate of this.#pods.get(uid)?.certificates.values() ?? []) certificate.wake();
  }
}

interface PodEntry {
  readonly certificates: Map<string, ManagedCertificate>;
  /** Ends the requests of the pod. */
  readonly end: AbortController;
}

function requestKey({ namespace, name }: PodCertificateRequest['metadata']): string {
  return `${namespace}/${name}`;
}
