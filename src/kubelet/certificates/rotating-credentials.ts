import type { Credentials, Identity } from '../api-client/credentials.ts';
import type { KeyPair, ServingCertificate } from './serving-certificate.ts';

/**
 * Credentials with the authorities of `server` and the certificate of `client`: anonymous while there is no
 * certificate.
 */
export function rotatingCredentials(server: Credentials, client: Pick<ServingCertificate, 'current'>): Credentials {
  let last: { readonly trusted: Identity; readonly pair: KeyPair | undefined; readonly identity: Identity } | undefined;
  return {
    async current(signal) {
      const trusted = await server.current(signal);
      const pair = client.current();
      if (last?.trusted === trusted && last.pair === pair) return last.identity;
      const own = pair && { clientCertificates: [{ certificate: pair.certificate, key: pair.key }] };
      const identity = { authorization: undefined, tls: { ...trusted.tls, ...own } };
      last = { trusted, pair, identity };
      return identity;
    },
    onUnauthorized() {}, // certificates are renewed by time, not after a 401
  };
}
