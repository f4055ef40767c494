import { STRUCTS } from './generated/kubelet-configuration-schema.ts';
import { type DocumentKind, type ParsedConfigFile, parseConfigDocument } from './parse-config-document.ts';

const KUBELET_CONFIGURATION: DocumentKind = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  structs: STRUCTS,
  isStrict: false,
  description: 'kubelet config file',
};

/** Reads a KubeletConfiguration, or a drop-in of one. Unknown fields are warnings. */
export function parseConfigFile(text: string, file: string): ParsedConfigFile {
  return parseConfigDocument(text, file, KUBELET_CONFIGURATION);
}
