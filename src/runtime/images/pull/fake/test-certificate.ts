import { generateKeyPairSync } from 'node:crypto';

/** Self-signed, valid until 2126. */
export const TEST_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBdjCCARugAwIBAgIUCE59iIXbBcjAg9pG3hzd0kMkoQUwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMTUyMDE5MDRaGA8yMTI2MTAyMjIwMTkw
NFowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABBp4
jmu2SECKQRTOI798ACPFcaFmguJYMnDDXDh7Jy8R1abNJj6yMXD1YIUphBN6dtxv
vzA/cVm8o3h+ixivZo+jUzBRMB0GA1UdDgQWBBRAt6GLFOZAanp1g6vIRy6+R5f1
GzAfBgNVHSMEGDAWgBRAt6GLFOZAanp1g6vIRy6+R5f1GzAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0kAMEYCIQC6ZhIP45XFvhuC40zVuhYOgJhJ39ahY7qJ
GYBFoXMTNwIhAMgyc82AuxCMUpfF5ePEQgz3MYJh8fVXdvNPAb2tbnfv
-----END CERTIFICATE-----
`;

/** Does not match the certificate. */
export function testKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}
