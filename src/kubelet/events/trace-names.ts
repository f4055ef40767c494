/** The instrumentation scopes of kubelet's spans. */
export const KUBELET_SCOPE = 'k8s.io/kubernetes/pkg/kubelet';
export const IMAGES_SCOPE = `${KUBELET_SCOPE}/images`;
export const RUNTIME_SCOPE = `${KUBELET_SCOPE}/kuberuntime`;
