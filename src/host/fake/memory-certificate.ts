import { type HttpRequest, NetworkError } from '../network.ts';

type CertificateRequest = Pick<HttpRequest, 'target' | 'scheme' | 'tls' | 'headers' | 'insecureSkipVerify'>;

/** Who vouches for it: one that everybody trusts, nobody, or one that has to be named in a request's `tls`. */
export type MemoryCertificate =
  | 'trusted'
  | 'untrusted'
  | {
      readonly authority: string;
      /** Certificates of clients that are let in; absent: nobody is asked for one. */
      readonly clients?: readonly string[];
      /** Whose it is; absent: of whoever is asked for. */
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
  const asked = headers.find(([name]) => name.toLowerCase() === 'host')?.[1].replace(/:\d+$/, '');
  const meant = serverName ?? asked ?? ('host' in target ? target.host : '');
  if (owner !== undefined && owner !== meant) {
    throw new NetworkError('ERR_TLS_CERT_ALTNAME_INVALID', `the certificate is not of ${meant}`);
  }
}
