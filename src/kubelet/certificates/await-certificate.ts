import type { CertificateSigningRequest } from '../../api/generated/core-v1.ts';
import { type ReflectorDeps, runReflector } from '../api-client/reflector.ts';
import { CertificateRequestError, type SubmittedRequest } from './request-certificate.ts';

/**
 * Waits until the request is approved and signed, and returns the certificate in PEM. Rejects with a
 * `CertificateRequestError` when the request is denied, has failed or was deleted, or with the signal's reason. Keeps
 * waiting while the server is unavailable.
 */
export async function awaitCertificate(
  request: SubmittedRequest,
  deps: ReflectorDeps,
  signal: AbortSignal,
): Promise<string> {
  const done = new AbortController();
  let outcome: RequestOutcome = { kind: 'open' };
  const settle = (next: RequestOutcome): void => {
    if (outcome.kind === 'open') outcome = next;
    if (outcome.kind !== 'open') done.abort();
  };
  const gone = { kind: 'refused', message: `csr ${JSON.stringify(request.name)} was deleted` } as const;
  const handler = {
    onList: ([found]: readonly CertificateSigningRequest[]) => settle(found ? requestOutcome(found, request) : gone),
    onChange: ({ type, object }: { readonly type: string; readonly object: CertificateSigningRequest }) =>
      settle(type === 'DELETED' ? gone : requestOutcome(object, request)),
  };
  const selection = { resource: 'certificatesigningrequests', fieldSelector: `metadata.name=${request.name}` } as const;
  await runReflector(selection, handler, deps, AbortSignal.any([signal, done.signal]));
  return certificateOrThrow(outcome, signal);
}

type RequestOutcome =
  | { readonly kind: 'open' }
  | { readonly kind: 'granted'; readonly certificate: string }
  | { readonly kind: 'refused'; readonly message: string };

function certificateOrThrow(outcome: RequestOutcome, signal: AbortSignal): string {
  switch (outcome.kind) {
    case 'granted':
      return outcome.certificate;
    case 'refused':
      throw new CertificateRequestError(`cannot watch on the certificate signing request: ${outcome.message}`);
    case 'open':
      throw signal.reason;
  }
}

function requestOutcome(
  { metadata, status = {} }: CertificateSigningRequest,
  { name, uid }: SubmittedRequest,
): RequestOutcome {
  if (metadata.uid !== uid) return { kind: 'refused', message: `csr ${JSON.stringify(name)} changed UIDs` };
  const { conditions = [], certificate = '' } = status;
  for (const { type, reason = '', message = '' } of conditions) {
    const failureText = type === 'Denied' ? 'is denied' : type === 'Failed' ? 'failed' : undefined;
    if (failureText === undefined) continue;
    const text = `certificate signing request ${failureText}, reason: ${reason}, message: ${message}`;
    return { kind: 'refused', message: text };
  }
  const isApproved = conditions.some(({ type }) => type === 'Approved');
  if (!isApproved || certificate === '') return { kind: 'open' };
  return { kind: 'granted', certificate: Buffer.from(certificate, 'base64').toString() };
}
