import { NOT_A_LABEL, NOT_A_SUBDOMAIN, type Rejections, testRejections } from '../testing/validation-errors-of.ts';

const SOURCE = 'spec.volumes[0].projected.sources';
const NOT_A_LABEL_VALUE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const refused: Rejections = {
  'a volume without a name': {
    change: { volume: { name: '' } },
    says: ['spec.volumes[0].name: Required value'],
  },
  'a volume with a bad name': {
    change: { volume: { name: 'My_Volume' } },
    says: [`spec.volumes[0].name: Invalid value: "My_Volume": ${NOT_A_LABEL}`],
  },
  'a volume twice': {
    change: { spec: { volumes: [{ name: 'v' }, { name: 'v' }] } },
    says: ['spec.volumes[1].name: Duplicate value: "v"'],
  },
  'two sources': {
    change: { volume: { emptyDir: {}, hostPath: { path: '/x' }, configMap: { name: 'c' } } },
    says: [
      'spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type',
      'spec.volumes[0].configMap: Forbidden: may not specify more than 1 volume type',
    ],
  },
  'an empty directory of negative size': {
    change: { volume: { emptyDir: { sizeLimit: '-1' } } },
    says: ['spec.volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity'],
  },
  'a path of the host that is empty': {
    change: { volume: { hostPath: { path: '' } } },
    says: ['spec.volumes[0].hostPath.path: Required value'],
  },
  'a path of the host that goes back': {
    change: { volume: { hostPath: { path: '/a/../b' } } },
    says: ['spec.volumes[0].hostPath.path: Invalid value: "/a/../b": must not contain \'..\''],
  },
  'an unknown type of path': {
    change: { volume: { hostPath: { path: '/a', type: 'Dir' } } },
    says: [
      'spec.volumes[0].hostPath.type: Unsupported value: "Dir": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
    ],
  },
  'a secret without a name': {
    change: { volume: { secret: {} } },
    says: ['spec.volumes[0].secret.secretName: Required value'],
  },
  'a secret with a bad mode and bad items': {
    change: {
      volume: {
        secret: {
          secretName: 's',
          defaultMode: 512,
          items: [
            { key: '', path: '' },
            { key: 'a', path: '/a', mode: -1 },
            { key: 'b', path: '../b' },
            { key: 'c', path: '..c' },
          ],
        },
      },
    },
    says: [
      'spec.volumes[0].secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive',
      'spec.volumes[0].secret.items[0].key: Required value',
      'spec.volumes[0].secret.items[0].path: Required value',
      'spec.volumes[0].secret.items[1].path: Invalid value: "/a": must be a relative path',
      'spec.volumes[0].secret.items[1].mode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive',
      'spec.volumes[0].secret.items[2].path: Invalid value: "../b": must not contain \'..\'',
      'spec.volumes[0].secret.items[3].path: Invalid value: "..c": must not start with \'..\'',
    ],
  },
  'a config map without a name': {
    change: { volume: { configMap: { defaultMode: -1 } } },
    says: [
      'spec.volumes[0].configMap.name: Required value',
      'spec.volumes[0].configMap.defaultMode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive',
    ],
  },
  'a network share without anything': {
    change: { volume: { nfs: { server: '', path: '' } } },
    says: [
      'spec.volumes[0].nfs.server: Required value',
      'spec.volumes[0].nfs.path: Required value',
      'spec.volumes[0].nfs.path: Invalid value: "": must be an absolute path',
    ],
  },
  'a claim without a name': {
    change: { volume: { persistentVolumeClaim: { claimName: '' } } },
    says: ['spec.volumes[0].persistentVolumeClaim.claimName: Required value'],
  },
  'files about the pod that say nothing': {
    change: { volume: { downwardAPI: { defaultMode: 512, items: [{ path: 'a' }] } } },
    says: [
      'spec.volumes[0].downwardAPI.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive',
      'spec.volumes[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required',
    ],
  },
  'files about the pod that say two things': {
    change: {
      volume: {
        downwardAPI: {
          items: [
            {
              path: '',
              fieldRef: { fieldPath: 'metadata.name' },
              resourceFieldRef: { containerName: 'web', resource: 'limits.cpu' },
            },
          ],
        },
      },
    },
    says: [
      'spec.volumes[0].downwardAPI.path: Required value',
      'spec.volumes[0].downwardAPI: Invalid value: "resource": fieldRef and resourceFieldRef can not be specified simultaneously',
    ],
  },
  'files about what the pod does not offer': {
    change: {
      volume: {
        downwardAPI: {
          items: [
            { path: 'a', fieldRef: { fieldPath: 'status.podIP' } },
            { path: 'b', resourceFieldRef: { resource: 'limits.cpu' }, mode: 512 },
          ],
        },
      },
    },
    says: [
      'spec.volumes[0].downwardAPI.fieldRef.fieldPath: Unsupported value: "status.podIP": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"',
      'spec.volumes[0].downwardAPI.resourceFieldRef.containerName: Required value',
      'spec.volumes[0].downwardAPI.mode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive',
    ],
  },
  'two projections of one file': {
    change: {
      volume: {
        projected: {
          sources: [
            { secret: { name: 's', items: [{ key: 'a', path: 'a' }] } },
            { configMap: { name: 'c', items: [{ key: 'a', path: 'a' }] } },
            { downwardAPI: { items: [{ path: 'a', fieldRef: { fieldPath: 'metadata.name' } }] } },
          ],
        },
      },
    },
    says: [
      'spec.volumes[0].projected: Invalid value: "c": conflicting duplicate paths',
      'spec.volumes[0].projected: Invalid value: "a": conflicting duplicate paths',
    ],
  },
  'a projection of two things at once': {
    change: {
      volume: { projected: { sources: [{ secret: { name: 's' }, configMap: { name: 'c' } }], defaultMode: 512 } },
    },
    says: [
      'spec.volumes[0].projected.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive',
      'spec.volumes[0].projected.sources[0]: Forbidden: may not specify more than 1 volume type per source',
    ],
  },
  'projections without names': {
    change: { volume: { projected: { sources: [{ secret: {} }, { configMap: {} }] } } },
    says: [
      'spec.volumes[0].projected.sources[0].secret.name: Required value',
      'spec.volumes[0].projected.sources[1].configMap.name: Required value',
    ],
  },
  'a token for a moment': {
    change: {
      spec: {
        serviceAccountName: 'a',
        volumes: [
          {
            name: 'v',
            projected: {
              sources: [
                { serviceAccountToken: { path: '../x', expirationSeconds: 599 } },
                { serviceAccountToken: { path: '', expirationSeconds: 4294967297 } },
              ],
            },
          },
        ],
      },
    },
    says: [
      'spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
      'spec.volumes[0].projected.path: Invalid value: "../x": must not contain \'..\'',
      'spec.volumes[0].projected.sources[1].serviceAccountToken.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
      'spec.volumes[0].projected.path: Required value',
    ],
  },
  'a token of no account': {
    change: { volume: { projected: { sources: [{ serviceAccountToken: { path: 'x' } }] } } },
    says: [
      'spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set',
    ],
  },
  'a trust bundle without name and signer': {
    change: { volume: { projected: { sources: [{ clusterTrustBundle: { path: '' } }] } } },
    says: [
      'spec.volumes[0].projected.sources[0].clusterTrustBundle: Required value: either name or signerName must be specified',
      'spec.volumes[0].projected.sources[0].clusterTrustBundle.path: Required value',
    ],
  },
  'trust bundles that cannot be': {
    change: {
      volume: {
        projected: {
          sources: [
            { clusterTrustBundle: { name: 'corp', labelSelector: {}, path: 'a' } },
            { clusterTrustBundle: { name: 'example.com:pods:_x', path: 'a' } },
            { clusterTrustBundle: { name: '', signerName: '', path: 'b' } },
            {
              clusterTrustBundle: {
                signerName: 'local',
                path: '..c',
                labelSelector: {
                  matchExpressions: [
                    { key: 'a', operator: 'In' },
                    { key: 'b', operator: 'Exists', values: ['x'] },
                    { key: 'c', operator: 'Near', values: ['-'] },
                  ],
                },
              },
            },
          ],
        },
      },
    },
    says: [
      `${SOURCE}[0].clusterTrustBundle.labelSelector: Invalid value: {}: labelSelector must be unset if name is specified`,
      `${SOURCE}[1].clusterTrustBundle.name: Invalid value: "example.com:pods:_x": not a valid clustertrustbundlename: ${NOT_A_SUBDOMAIN}`,
      'spec.volumes[0].projected: Invalid value: "a": conflicting duplicate paths',
      `${SOURCE}[2].clusterTrustBundle: Invalid value: {"name":"","signerName":"","path":"b"}: only one of name and signerName may be used`,
      `${SOURCE}[3].clusterTrustBundle.signerName: Invalid value: "local": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
      `${SOURCE}[3].clusterTrustBundle.labelSelector.matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
      `${SOURCE}[3].clusterTrustBundle.labelSelector.matchExpressions[1].values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
      `${SOURCE}[3].clusterTrustBundle.labelSelector.matchExpressions[2].operator: Invalid value: "Near": not a valid selector operator`,
      `${SOURCE}[3].clusterTrustBundle.labelSelector.matchExpressions[2].values[0]: Invalid value: "-": ${NOT_A_LABEL_VALUE}`,
      `${SOURCE}[3].clusterTrustBundle.path: Invalid value: "..c": must not start with '..'`,
    ],
  },
  'certificates that cannot be': {
    change: {
      volume: {
        projected: {
          sources: [
            { podCertificate: { signerName: '', keyType: 'DSA', maxExpirationSeconds: 60 } },
            {
              podCertificate: {
                signerName: 'localhost/x',
                keyType: 'ED25519',
                maxExpirationSeconds: 10_000_000,
                userAnnotations: { plain: 'x' },
                keyPath: '/key',
                certificateChainPath: '/key',
              },
            },
            {
              podCertificate: {
                signerName: 'kubernetes.io/x',
                keyType: 'ED25519',
                maxExpirationSeconds: 86_401,
                keyPath: 'key',
              },
            },
          ],
        },
      },
    },
    says: [
      `${SOURCE}[0].podCertificate.signerName: Required value`,
      `${SOURCE}[0].podCertificate.keyType: Unsupported value: "DSA": supported values: "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"`,
      `${SOURCE}[0].podCertificate.maxExpirationSeconds: Invalid value: 60: if provided, maxExpirationSeconds must be >= 3600`,
      `${SOURCE}[0].podCertificate: Required value: specify at least one of credentialBundlePath, keyPath, and certificateChainPath`,
      `${SOURCE}[1].podCertificate.signerName: Invalid value: "localhost": should be a domain with at least two segments separated by dots`,
      `${SOURCE}[1].podCertificate.userAnnotations: Invalid value: "plain": must be a domain-prefixed key (such as "acme.io/foo")`,
      `${SOURCE}[1].podCertificate.maxExpirationSeconds: Invalid value: 10000000: if provided, maxExpirationSeconds must be <= 7862400`,
      `${SOURCE}[1].podCertificate.keyPath: Invalid value: "/key": must be a relative path`,
      `${SOURCE}[1].podCertificate.certificateChainPath: Invalid value: "/key": must be a relative path`,
      'spec.volumes[0].projected: Invalid value: "/key": conflicting duplicate paths',
      `${SOURCE}[2].podCertificate.maxExpirationSeconds: Invalid value: 86401: if provided, maxExpirationSeconds must be <= 86400`,
    ],
  },
  'a driver without a name': {
    change: { volume: { csi: { driver: '', nodePublishSecretRef: {} } } },
    says: [
      'spec.volumes[0].csi.driver: Required value',
      'spec.volumes[0].csi.nodePublishSecretRef.name: Required value',
    ],
  },
  'a driver with a bad name': {
    change: { volume: { csi: { driver: 'a_b', nodePublishSecretRef: { name: 'S' } } } },
    says: [
      `spec.volumes[0].csi.driver: Invalid value: "a_b": ${NOT_A_SUBDOMAIN}`,
      `spec.volumes[0].csi.name: Invalid value: "S": ${NOT_A_SUBDOMAIN}`,
    ],
  },
  'a claim of its own without a template': {
    change: { volume: { ephemeral: {} } },
    says: ['spec.volumes[0].ephemeral.volumeClaimTemplate: Required value'],
  },
  'a claim that another volume makes': {
    change: {
      spec: {
        volumes: [
          {
            name: 'e',
            ephemeral: {
              volumeClaimTemplate: {
                spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
              },
            },
          },
          { name: 'c', persistentVolumeClaim: { claimName: 'web-e' } },
        ],
      },
    },
    says: [
      'spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: "web-e": must not reference a PVC that gets created for an ephemeral volume',
    ],
  },
  'an image without a reference': {
    change: { volume: { image: { pullPolicy: 'x' } } },
    says: [
      'spec.volumes[0].image.reference: Required value',
      'spec.volumes[0].image.pullPolicy: Unsupported value: "x": supported values: "Always", "IfNotPresent", "Never"',
    ],
  },
  'sources that a cluster would need': {
    change: {
      spec: {
        volumes: [
          { name: 'a', gitRepo: { repository: '' } },
          { name: 'b', rbd: { monitors: [], image: '' } },
          { name: 'c', azureFile: { secretName: '', shareName: '' } },
          { name: 'd', flexVolume: { driver: '' } },
        ],
      },
    },
    says: [
      'spec.volumes[0].gitRepo.repository: Required value',
      'spec.volumes[1].rbd.monitors: Required value',
      'spec.volumes[1].rbd.image: Required value',
      'spec.volumes[2].azureFile.secretName: Required value',
      'spec.volumes[2].azureFile.shareName: Required value',
      'spec.volumes[3].flexVolume.driver: Required value',
    ],
  },
};

testRejections(refused);
