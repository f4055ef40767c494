import type { CertificateSigningRequest } from '../../api/generated/core-v1.ts';
import { type FollowDeps, followSelection } from '../api-client/reflector.ts';
import { CertificateRequestError, type PlacedRequest } from './request-certificate.ts';

/**
 * The certificate in PEM, once somebody has approved the request and signed it. Rejects with a `CertificateRequestError`
 * when nobody ever will, or with the signal's reason. While the server is away, it waits for it to come back.
 */
export async function awaitCertificate(request: PlacedRequest, deps: FollowDeps, signal: AbortSignal): Promise<string> {
  const done = new AbortController();
  let verdict: Verdict = { kind: 'open' };
  const judge = (next: Verdict): void => {
    if (verdict.kind === 'open') verdict = next;
    if (verdict.kind !== 'open') done.abort();
  };
  const gone = { kind: 'refused', message: `csr ${JSON.stringify(request.name)} was deleted` } as const;
  const keeper = {
    listed: ([found]: readonly CertificateSigningRequest[]) => judge(found ? verdictOf(found, request) : gone),
    changed: ({ type, object }: { readonly type: string; readonly object: CertificateSigningRequest }) =>
      judge(type === 'DELETED' ? gone : verdictOf(object, request)),
  };
  const selection = { resource: 'certificatesigningrequests', fieldSelector: `metadata.name=${request.name}` } as const;
  await followSelection(selection, keeper, deps, AbortSignal.any([signal, done.signal]));
  return granted(verdict, signal);
}

type Verdict =
  | { readonly kind: 'open' }
  | { readonly kind: 'granted'; readonly certificate: string }
  | { readonly kind: 'refused'; readonly message: string };

function granted(verdict: Verdict, signal: AbortSignal): string {
  switch (verdict.kind) {
    case 'granted':
      return verdict.certificate;
    case 'refused':
      throw new CertificateRequestError(`cannot watch on the certificate signing request: ${verdict.message}`);
    case 'open':
      throw signal.reason;
  }
}

function verdictOf({ metadata, status = {} }: CertificateSigningRequest, { name, uid }: PlacedRequest): Verdict {
  if (metadata.uid !== uid) return { kind: 'refused', message: `csr ${JSON.stringify(name)} changed UIDs` };
  const { conditions = [], certificate = '' } = status;
  for (const { type, reason = '', message = '' } of conditions) {
    const words = type === 'Denied' ? 'is denied' : type === 'Failed' ? 'failed' : undefined;
    if (words === undefined) continue;
    const text = `certificate signing request ${words}, reason: ${reason}, message: ${message}`;
    return { kind: 'refused', message: text };
  }
  const isApproved = conditions.some(({ type }) => type === 'Approved');
  if (!isApproved || certificate === '') return { kind: 'open' };
  return { kind: 'granted', certificate: Buffer.from(certificate, 'base64').toString() };
}
