import type { CertificateSigningRequest } from '../../../api/generated/core-v1.ts';
import { silentLog } from '../../../base/log.ts';
import type { Clock } from '../../../host/clock.ts';
import { SeededRandom } from '../../../host/fake/seeded-random.ts';
import type { Random } from '../../../host/random.ts';
import type { SigningKey } from '../../../host/signing-keys.ts';
import type { ApiServer } from '../../api-client/api-server.ts';
import { runReflector } from '../../api-client/reflector.ts';
import { readCertificateRequest } from '../certificate-request.ts';
import { distinguishedName, issueCertificate } from '../x509.ts';

export interface SignerDeps {
  readonly api: ApiServer;
  readonly key: SigningKey;
  readonly clock: Clock;
}

type Answer = 'sign' | 'deny' | 'fail' | 'ignore';

/** Answers certificate requests as a cluster's controllers and administrators do. */
export class MemorySigner {
  readonly #deps: SignerDeps;
  readonly #random: Random = new SeededRandom(11);
  readonly #seen = new Map<string, CertificateSigningRequest>();
  /** The answer to new requests. */
  answer: Answer = 'sign';
  lifeMs = 24 * 3600_000;
  /** Issues certificates without the requested names. */
  leavesNamesOut = false;

  constructor(deps: SignerDeps) {
    this.#deps = deps;
  }

  /** In order of arrival. */
  get requests(): readonly CertificateSigningRequest[] {
    return [...this.#seen.values()];
  }

  /** The API server without faults. */
  get api(): ApiServer {
    return this.#deps.api;
  }

  /** Signs a request that was ignored so far. */
  sign(request: CertificateSigningRequest, signal: AbortSignal): Promise<void> {
    return this.#write(request, 'sign', signal);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { api, clock } = this.#deps;
    const see = (request: CertificateSigningRequest): void => {
      const { uid = '' } = request.metadata;
      if (this.#seen.has(uid)) return;
      this.#seen.set(uid, request);
      if (this.answer !== 'ignore') void this.#write(request, this.answer, signal);
    };
    const handler = {
      onList: (requests: readonly CertificateSigningRequest[]) => requests.forEach(see),
      onChange: ({ object }: { readonly object: CertificateSigningRequest }) => see(object),
    };
    const deps = { api, clock, random: this.#random, log: silentLog };
    await runReflector({ resource: 'certificatesigningrequests' }, handler, deps, signal);
  }

  /** Issues the certificate for a request, in PEM. */
  certificateFor(request: string): string {
    const { key, clock } = this.#deps;
    const { subject, publicKey, extensions } = readCertificateRequest(request);
    const issuer = distinguishedName({ commonName: 'memory-ca' });
    const validFromMs = clock.now();
    const [serial, validUntilMs] = [this.#random.bytes(8), validFromMs + this.lifeMs];
    const named = this.leavesNamesOut ? [] : extensions;
    return issueCertificate({ serial, subject, issuer, validFromMs, validUntilMs, publicKey, extensions: named }, key);
  }

  async #write({ metadata, spec }: CertificateSigningRequest, answer: Answer, signal: AbortSignal): Promise<void> {
    const type = answer === 'deny' ? 'Denied' : answer === 'fail' ? 'Failed' : 'Approved';
    const certificate = this.certificateFor(Buffer.from(spec.request, 'base64').toString());
    const status = {
      conditions: [{ type, status: 'True', reason: 'Test', message: 'so it is' }],
      ...(answer === 'sign' && { certificate: Buffer.from(certificate).toString('base64') }),
    };
    const key = { resource: 'certificatesigningrequests', namespace: '', name: metadata.name } as const;
    await this.#deps.api.patch(key, { status }, { subresource: 'status' }, signal);
  }
}
