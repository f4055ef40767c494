import type { CertificateSigningRequest } from '../../api/generated/core-v1.ts';
import { errorText } from '../../base/error-text.ts';
import type { SigningKey } from '../../host/signing-keys.ts';
import { ApiError, type ApiServer } from '../api-client/api-server.ts';
import { isApiError } from '../api-client/is-api-error.ts';
import { certificateRequest, readCertificateRequest } from './certificate-request.ts';
import type { CertificateSubject } from './certificate-subject.ts';
import { certificatesIn } from './held-certificate.ts';

export const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';
export const SERVING_SIGNER = 'kubernetes.io/kubelet-serving';

/** The request will not be granted. The message is client-go's. */
export class CertificateRequestError extends Error {
  override readonly name = 'CertificateRequestError';
}

/** The parameters of a certificate request. */
export interface WantedCertificate {
  readonly subject: CertificateSubject;
  readonly key: SigningKey;
  readonly signerName: string;
  readonly usages: readonly string[];
  /** The name under which the request is found again. Absent: the server generates one. */
  readonly name?: string;
}

/** A request that was submitted to the API server. */
export interface SubmittedRequest {
  readonly name: string;
  readonly uid: string;
}

/** Rejects with an `ApiError` or a `CertificateRequestError`. */
export async function requestCertificate(
  wanted: WantedCertificate,
  { api, nowMs }: { readonly api: Pick<ApiServer, 'create' | 'get'>; readonly nowMs: number },
  signal: AbortSignal,
): Promise<SubmittedRequest> {
  const { name = '' } = wanted;
  const key = { resource: 'certificatesigningrequests', namespace: '', name } as const;
  try {
    return submittedRequest(await api.create(key, requestObject(wanted), signal));
  } catch (error) {
    if (name === '' || !isApiError(error, 'AlreadyExists')) throw withContext(error, 'cannot create');
  }
  const there = await api.get(key, signal).catch((error: unknown) => {
    throw withContext(error, 'cannot retrieve');
  });
  const reason = incompatibility(there, wanted, nowMs);
  if (reason !== undefined) throw new CertificateRequestError(`retrieved csr is not compatible: ${reason}`);
  return submittedRequest(there);
}

function requestObject({ name, subject, key, signerName, usages }: WantedCertificate): CertificateSigningRequest {
  const request = Buffer.from(certificateRequest(subject, key)).toString('base64');
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: name === undefined ? { name: '', generateName: 'csr-' } : { name },
    spec: { request, signerName, usages },
  };
}

function submittedRequest({ metadata }: CertificateSigningRequest): SubmittedRequest {
  return { name: metadata.name, uid: metadata.uid ?? '' };
}

function withContext(error: unknown, what: string): unknown {
  if (!(error instanceof ApiError)) return error;
  const { reason, message, retryAfterMs } = error;
  const text = `${what} certificate signing request: ${message}`;
  return new ApiError(reason, text, { cause: error, ...(retryAfterMs !== undefined && { retryAfterMs }) });
}

/** Why an existing request of this name is not ours; `undefined` if it is. */
function incompatibility(
  { spec, status }: CertificateSigningRequest,
  { subject, key, signerName }: WantedCertificate,
  nowMs: number,
): string | undefined {
  try {
    const theirs = readCertificateRequest(Buffer.from(spec.request, 'base64').toString());
    const ours = readCertificateRequest(certificateRequest(subject, key));
    if (!Buffer.from(theirs.subject).equals(ours.subject)) return 'csr subjects differ';
    if (spec.signerName !== signerName) {
      return `csr signerNames differ: new ${JSON.stringify(spec.signerName)}, orig: ${JSON.stringify(signerName)}`;
    }
    if (!key.isSignature(theirs.signature, theirs.content)) return 'error validating signature new CSR against old key';
    const issued = Buffer.from(status?.certificate ?? '', 'base64').toString();
    const isExpired = issued !== '' && certificatesIn(issued).some(({ validUntilMs }) => nowMs > validUntilMs);
    return isExpired ? 'one of the certificates for the CSR has expired' : undefined;
  } catch (error) {
    return `unable to parse new csr: ${errorText(error)}`;
  }
}
