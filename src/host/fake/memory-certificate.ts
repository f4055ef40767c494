import { type HttpRequest, NetworkError } from '../network.ts';

type CertificateRequest = Pick<HttpRequest, 'target' | 'scheme' | 'tls' | 'headers' | 'insecureSkipVerify'>;

/** Signed by a trusted authority, by none, or by an authority that must be in the request's `tls`. */
export type MemoryCertificate =
  | 'trusted'
  | 'untrusted'
  | {
      readonly authority: string;
      /** Client certificates that are accepted; absent: clients are not asked for one. */
      readonly clients?: readonly string[];
      /** The name of the certificate; absent: it matches any name. */
      readonly name?: string;
    };

/** Throws the `NetworkError` of a handshake that fails. */
export function checkCertificate(request: CertificateRequest, certificate: MemoryCertificate | undefined): void {
  const isTls = request.scheme === 'https';
  if (isTls !== (certificate !== undefined)) {
    throw new NetworkError(isTls ? 'EPROTO' : 'ECONNRESET', isTls ? 'wrong version number' : 'socket hang up');
  }
  if (certificate === undefined) return;
  if (!request.insecureSkipVerify) checkTrust(request, certificate);
  const { clientCertificates = [] } = request.tls ?? {};
  const wanted = typeof certificate === 'string' ? undefined : certificate.clients;
  if (wanted && !clientCertificates.some((each) => wanted.includes(each.certificate))) {
    throw new NetworkError('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'tlsv13 alert certificate required');
  }
}

function checkTrust({ target, tls = {}, headers = [] }: CertificateRequest, certificate: MemoryCertificate): void {
  const { authorities = [], isExclusive = false, serverName } = tls;
  const isKnown =
    typeof certificate === 'string'
      ? certificate === 'trusted' && !isExclusive
      : authorities.includes(certificate.authority);
  if (!isKnown) throw new NetworkError('DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate');
  const owner = typeof certificate === 'string' ? undefined : certificate.name;
  const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1].replace(/:\d+$/, '');
  const expected = serverName ?? host ?? ('host' in target ? target.host : '');
  if (owner !== undefined && owner !== expected) {
    throw new NetworkError('ERR_TLS_CERT_ALTNAME_INVALID', `the certificate is not of ${expected}`);
  }
}
