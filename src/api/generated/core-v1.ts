// Written by tools/generate-api.ts from protocols/core-v1.tsv; change those and run 'make generate'.

/** As in `100Mi` or `1`; base/quantity.ts reads it. */
export type Quantity = string | number;

export type IntOrString = string | number;

/** RFC 3339; base/rfc3339.ts reads and writes it. */
export type Time = string;

/** Metadata of an object that has a name. */
export interface NamedMeta extends ObjectMeta {
  readonly name: string;
}

/** Metadata of a pod: empty strings for fields that a manifest does not set, until they are defaulted. */
export interface PodMeta extends NamedMeta {
  readonly namespace: string;
  readonly uid: string;
}

export interface AWSElasticBlockStoreVolumeSource {
  readonly fsType?: string | undefined;
  readonly partition?: number | undefined;
  readonly readOnly?: boolean | undefined;
  readonly volumeID: string;
}

export interface Affinity {
  readonly nodeAffinity?: NodeAffinity | undefined;
  readonly podAffinity?: PodAffinity | undefined;
  readonly podAntiAffinity?: PodAntiAffinity | undefined;
}

export interface AllocatedDeviceStatus {
  readonly conditions?: ReadonlyArray<Condition> | undefined;
  readonly data?: RawExtension | undefined;
  readonly device: string;
  readonly driver: string;
  readonly networkData?: NetworkDeviceData | undefined;
  readonly pool: string;
  readonly shareID?: string | undefined;
}

export interface AllocationResult {
  readonly allocationTimestamp?: Time | undefined;
  readonly devices?: DeviceAllocationResult | undefined;
  readonly nodeSelector?: NodeSelector | undefined;
}

export interface AppArmorProfile {
  readonly localhostProfile?: string | undefined;
  readonly type: string;
}

export interface AttachedVolume {
  readonly devicePath: string;
  readonly name: string;
}

export interface AzureDiskVolumeSource {
  readonly cachingMode?: string | undefined;
  readonly diskName: string;
  readonly diskURI: string;
  readonly fsType?: string | undefined;
  readonly kind?: string | undefined;
  readonly readOnly?: boolean | undefined;
}

export interface AzureFilePersistentVolumeSource {
  readonly readOnly?: boolean | undefined;
  readonly secretName: string;
  readonly secretNamespace?: string | undefined;
  readonly shareName: string;
}

export interface AzureFileVolumeSource {
  readonly readOnly?: boolean | undefined;
  readonly secretName: string;
  readonly shareName: string;
}

export interface BoundObjectReference {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly name?: string | undefined;
  readonly uid?: string | undefined;
}

export interface CELDeviceSelector {
  readonly expression: string;
}

export interface CSIDriver {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly spec: CSIDriverSpec;
}

export interface CSIDriverSpec {
  readonly attachRequired?: boolean | undefined;
  readonly fsGroupPolicy?: string | undefined;
  readonly nodeAllocatableUpdatePeriodSeconds?: number | undefined;
  readonly podInfoOnMount?: boolean | undefined;
  readonly preventPodSchedulingIfMissing?: boolean | undefined;
  readonly requiresRepublish?: boolean | undefined;
  readonly seLinuxMount?: boolean | undefined;
  readonly serviceAccountTokenInSecrets?: boolean | undefined;
  readonly storageCapacity?: boolean | undefined;
  readonly tokenRequests?: ReadonlyArray<CSIDriverTokenRequest> | undefined;
  readonly volumeLifecycleModes?: ReadonlyArray<string> | undefined;
}

export interface CSIDriverTokenRequest {
  readonly audience: string;
  readonly expirationSeconds?: number | undefined;
}

export interface CSINode {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly spec: CSINodeSpec;
}

export interface CSINodeDriver {
  readonly allocatable?: VolumeNodeResources | undefined;
  readonly name: string;
  readonly nodeID: string;
  readonly topologyKeys?: ReadonlyArray<string> | undefined;
}

export interface CSINodeSpec {
  readonly drivers: ReadonlyArray<CSINodeDriver>;
}

export interface CSIPersistentVolumeSource {
  readonly controllerExpandSecretRef?: SecretReference | undefined;
  readonly controllerPublishSecretRef?: SecretReference | undefined;
  readonly driver: string;
  readonly fsType?: string | undefined;
  readonly nodeExpandSecretRef?: SecretReference | undefined;
  readonly nodePublishSecretRef?: SecretReference | undefined;
  readonly nodeStageSecretRef?: SecretReference | undefined;
  readonly readOnly?: boolean | undefined;
  readonly volumeAttributes?: Readonly<Record<string, string>> | undefined;
  readonly volumeHandle: string;
}

export interface CSIVolumeSource {
  readonly driver: string;
  readonly fsType?: string | undefined;
  readonly nodePublishSecretRef?: LocalObjectReference | undefined;
  readonly readOnly?: boolean | undefined;
  readonly volumeAttributes?: Readonly<Record<string, string>> | undefined;
}

export interface Capabilities {
  readonly add?: ReadonlyArray<string> | undefined;
  readonly drop?: ReadonlyArray<string> | undefined;
}

export interface CapacityRequestPolicy {
  readonly default?: Quantity | undefined;
  readonly validRange?: CapacityRequestPolicyRange | undefined;
  readonly validValues?: ReadonlyArray<Quantity> | undefined;
}

export interface CapacityRequestPolicyRange {
  readonly max?: Quantity | undefined;
  readonly min: Quantity;
  readonly step?: Quantity | undefined;
}

export interface CapacityRequirements {
  readonly requests?: Readonly<Record<string, Quantity>> | undefined;
}

export interface CephFSPersistentVolumeSource {
  readonly monitors: ReadonlyArray<string>;
  readonly path?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly secretFile?: string | undefined;
  readonly secretRef?: SecretReference | undefined;
  readonly user?: string | undefined;
}

export interface CephFSVolumeSource {
  readonly monitors: ReadonlyArray<string>;
  readonly path?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly secretFile?: string | undefined;
  readonly secretRef?: LocalObjectReference | undefined;
  readonly user?: string | undefined;
}

export interface CertificateSigningRequest {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly spec: CertificateSigningRequestSpec;
  readonly status?: CertificateSigningRequestStatus | undefined;
}

export interface CertificateSigningRequestCondition {
  readonly lastTransitionTime?: Time | undefined;
  readonly lastUpdateTime?: Time | undefined;
  readonly message?: string | undefined;
  readonly reason?: string | undefined;
  readonly status: string;
  readonly type: string;
}

export interface CertificateSigningRequestSpec {
  readonly expirationSeconds?: number | undefined;
  readonly extra?: Readonly<Record<string, ReadonlyArray<string>>> | undefined;
  readonly groups?: ReadonlyArray<string> | undefined;
  readonly request: string;
  readonly signerName: string;
  readonly uid?: string | undefined;
  readonly usages?: ReadonlyArray<string> | undefined;
  readonly username?: string | undefined;
}

export interface CertificateSigningRequestStatus {
  readonly certificate?: string | undefined;
  readonly conditions?: ReadonlyArray<CertificateSigningRequestCondition> | undefined;
}

export interface CinderPersistentVolumeSource {
  readonly fsType?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly secretRef?: SecretReference | undefined;
  readonly volumeID: string;
}

export interface CinderVolumeSource {
  readonly fsType?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly secretRef?: LocalObjectReference | undefined;
  readonly volumeID: string;
}

export interface ClientIPConfig {
  readonly timeoutSeconds?: number | undefined;
}

export interface ClusterTrustBundle {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly spec: ClusterTrustBundleSpec;
}

export interface ClusterTrustBundleProjection {
  readonly labelSelector?: LabelSelector | undefined;
  readonly name?: string | undefined;
  readonly optional?: boolean | undefined;
  readonly path: string;
  readonly signerName?: string | undefined;
}

export interface ClusterTrustBundleSpec {
  readonly signerName?: string | undefined;
  readonly trustBundle: string;
}

export interface Condition {
  readonly lastTransitionTime: Time;
  readonly message: string;
  readonly observedGeneration?: number | undefined;
  readonly reason: string;
  readonly status: string;
  readonly type: string;
}

export interface ConfigMap {
  readonly apiVersion?: string | undefined;
  readonly binaryData?: Readonly<Record<string, string>> | undefined;
  readonly data?: Readonly<Record<string, string>> | undefined;
  readonly immutable?: boolean | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
}

export interface ConfigMapEnvSource {
  readonly name?: string | undefined;
  readonly optional?: boolean | undefined;
}

export interface ConfigMapKeySelector {
  readonly key: string;
  readonly name?: string | undefined;
  readonly optional?: boolean | undefined;
}

export interface ConfigMapList {
  readonly apiVersion?: string | undefined;
  readonly items: ReadonlyArray<ConfigMap>;
  readonly kind?: string | undefined;
  readonly metadata?: ListMeta | undefined;
}

export interface ConfigMapNodeConfigSource {
  readonly kubeletConfigKey: string;
  readonly name: string;
  readonly namespace: string;
  readonly resourceVersion?: string | undefined;
  readonly uid?: string | undefined;
}

export interface ConfigMapProjection {
  readonly items?: ReadonlyArray<KeyToPath> | undefined;
  readonly name?: string | undefined;
  readonly optional?: boolean | undefined;
}

export interface ConfigMapVolumeSource {
  readonly defaultMode?: number | undefined;
  readonly items?: ReadonlyArray<KeyToPath> | undefined;
  readonly name?: string | undefined;
  readonly optional?: boolean | undefined;
}

export interface Container {
  readonly args?: ReadonlyArray<string> | undefined;
  readonly command?: ReadonlyArray<string> | undefined;
  readonly env?: ReadonlyArray<EnvVar> | undefined;
  readonly envFrom?: ReadonlyArray<EnvFromSource> | undefined;
  readonly image?: string | undefined;
  readonly imagePullPolicy?: string | undefined;
  readonly lifecycle?: Lifecycle | undefined;
  readonly livenessProbe?: Probe | undefined;
  readonly name: string;
  readonly ports?: ReadonlyArray<ContainerPort> | undefined;
  readonly readinessProbe?: Probe | undefined;
  readonly resizePolicy?: ReadonlyArray<ContainerResizePolicy> | undefined;
  readonly resources?: ResourceRequirements | undefined;
  readonly restartPolicy?: string | undefined;
  readonly restartPolicyRules?: ReadonlyArray<ContainerRestartRule> | undefined;
  readonly securityContext?: SecurityContext | undefined;
  readonly startupProbe?: Probe | undefined;
  readonly stdin?: boolean | undefined;
  readonly stdinOnce?: boolean | undefined;
  readonly terminationMessagePath?: string | undefined;
  readonly terminationMessagePolicy?: string | undefined;
  readonly tty?: boolean | undefined;
  readonly volumeDevices?: ReadonlyArray<VolumeDevice> | undefined;
  readonly volumeMounts?: ReadonlyArray<VolumeMount> | undefined;
  readonly workingDir?: string | undefined;
}

export interface ContainerExtendedResourceRequest {
  readonly containerName: string;
  readonly requestName: string;
  readonly resourceName: string;
}

export interface ContainerImage {
  readonly names?: ReadonlyArray<string> | undefined;
  readonly sizeBytes?: number | undefined;
}

export interface ContainerPort {
  readonly containerPort: number;
  readonly hostIP?: string | undefined;
  readonly hostPort?: number | undefined;
  readonly name?: string | undefined;
  readonly protocol?: string | undefined;
}

export interface ContainerResizePolicy {
  readonly resourceName: string;
  readonly restartPolicy: string;
}

export interface ContainerResourceClaim {
  readonly name: string;
  readonly request?: string | undefined;
}

export interface ContainerRestartRule {
  readonly action: string;
  readonly exitCodes?: ContainerRestartRuleOnExitCodes | undefined;
}

export interface ContainerRestartRuleOnExitCodes {
  readonly operator: string;
  readonly values?: ReadonlyArray<number> | undefined;
}

export interface ContainerState {
  readonly running?: ContainerStateRunning | undefined;
  readonly terminated?: ContainerStateTerminated | undefined;
  readonly waiting?: ContainerStateWaiting | undefined;
}

export interface ContainerStateRunning {
  readonly startedAt?: Time | undefined;
}

export interface ContainerStateTerminated {
  readonly containerID?: string | undefined;
  readonly exitCode: number;
  readonly finishedAt?: Time | undefined;
  readonly message?: string | undefined;
  readonly reason?: string | undefined;
  readonly signal?: number | undefined;
  readonly startedAt?: Time | undefined;
}

export interface ContainerStateWaiting {
  readonly message?: string | undefined;
  readonly reason?: string | undefined;
}

export interface ContainerStatus {
  readonly allocatedResources?: Readonly<Record<string, Quantity>> | undefined;
  readonly allocatedResourcesStatus?: ReadonlyArray<ResourceStatus> | undefined;
  readonly containerID?: string | undefined;
  readonly image: string;
  readonly imageID: string;
  readonly lastState?: ContainerState | undefined;
  readonly name: string;
  readonly ready: boolean;
  readonly resources?: ResourceRequirements | undefined;
  readonly restartCount: number;
  readonly started?: boolean | undefined;
  readonly state?: ContainerState | undefined;
  readonly stopSignal?: string | undefined;
  readonly user?: ContainerUser | undefined;
  readonly volumeMounts?: ReadonlyArray<VolumeMountStatus> | undefined;
}

export interface ContainerUser {
  readonly linux?: LinuxContainerUser | undefined;
}

export interface Counter {
  readonly value: Quantity;
}

export interface CounterSet {
  readonly counters: Readonly<Record<string, Counter>>;
  readonly name: string;
}

export interface DaemonEndpoint {
  readonly Port: number;
}

export interface Device {
  readonly allNodes?: boolean | undefined;
  readonly allowMultipleAllocations?: boolean | undefined;
  readonly attributes?: Readonly<Record<string, DeviceAttribute>> | undefined;
  readonly bindingConditions?: ReadonlyArray<string> | undefined;
  readonly bindingFailureConditions?: ReadonlyArray<string> | undefined;
  readonly bindsToNode?: boolean | undefined;
  readonly capacity?: Readonly<Record<string, DeviceCapacity>> | undefined;
  readonly consumesCounters?: ReadonlyArray<DeviceCounterConsumption> | undefined;
  readonly name: string;
  readonly nodeAllocatableResourceMappings?: Readonly<Record<string, NodeAllocatableResourceMapping>> | undefined;
  readonly nodeName?: string | undefined;
  readonly nodeSelector?: NodeSelector | undefined;
  readonly taints?: ReadonlyArray<DeviceTaint> | undefined;
}

export interface DeviceAllocationConfiguration {
  readonly opaque?: OpaqueDeviceConfiguration | undefined;
  readonly requests?: ReadonlyArray<string> | undefined;
  readonly source: string;
}

export interface DeviceAllocationResult {
  readonly config?: ReadonlyArray<DeviceAllocationConfiguration> | undefined;
  readonly results?: ReadonlyArray<DeviceRequestAllocationResult> | undefined;
}

export interface DeviceAttribute {
  readonly bool?: boolean | undefined;
  readonly bools?: ReadonlyArray<boolean> | undefined;
  readonly int?: number | undefined;
  readonly ints?: ReadonlyArray<number> | undefined;
  readonly string?: string | undefined;
  readonly strings?: ReadonlyArray<string> | undefined;
  readonly version?: string | undefined;
  readonly versions?: ReadonlyArray<string> | undefined;
}

export interface DeviceCapacity {
  readonly requestPolicy?: CapacityRequestPolicy | undefined;
  readonly value: Quantity;
}

export interface DeviceClaim {
  readonly config?: ReadonlyArray<DeviceClaimConfiguration> | undefined;
  readonly constraints?: ReadonlyArray<DeviceConstraint> | undefined;
  readonly requests?: ReadonlyArray<DeviceRequest> | undefined;
}

export interface DeviceClaimConfiguration {
  readonly opaque?: OpaqueDeviceConfiguration | undefined;
  readonly requests?: ReadonlyArray<string> | undefined;
}

export interface DeviceConstraint {
  readonly distinctAttribute?: string | undefined;
  readonly matchAttribute?: string | undefined;
  readonly requests?: ReadonlyArray<string> | undefined;
}

export interface DeviceCounterConsumption {
  readonly counterSet: string;
  readonly counters: Readonly<Record<string, Counter>>;
}

export interface DeviceRequest {
  readonly exactly?: ExactDeviceRequest | undefined;
  readonly firstAvailable?: ReadonlyArray<DeviceSubRequest> | undefined;
  readonly name: string;
}

export interface DeviceRequestAllocationResult {
  readonly adminAccess?: boolean | undefined;
  readonly bindingConditions?: ReadonlyArray<string> | undefined;
  readonly bindingFailureConditions?: ReadonlyArray<string> | undefined;
  readonly consumedCapacity?: Readonly<Record<string, Quantity>> | undefined;
  readonly device: string;
  readonly driver: string;
  readonly pool: string;
  readonly request: string;
  readonly shareID?: string | undefined;
  readonly tolerations?: ReadonlyArray<DeviceToleration> | undefined;
}

export interface DeviceSelector {
  readonly cel?: CELDeviceSelector | undefined;
}

export interface DeviceSubRequest {
  readonly allocationMode?: string | undefined;
  readonly capacity?: CapacityRequirements | undefined;
  readonly count?: number | undefined;
  readonly deviceClassName: string;
  readonly name: string;
  readonly selectors?: ReadonlyArray<DeviceSelector> | undefined;
  readonly tolerations?: ReadonlyArray<DeviceToleration> | undefined;
}

export interface DeviceTaint {
  readonly effect: string;
  readonly key: string;
  readonly timeAdded?: Time | undefined;
  readonly value?: string | undefined;
}

export interface DeviceToleration {
  readonly effect?: string | undefined;
  readonly key?: string | undefined;
  readonly operator?: string | undefined;
  readonly tolerationSeconds?: number | undefined;
  readonly value?: string | undefined;
}

export interface DownwardAPIProjection {
  readonly items?: ReadonlyArray<DownwardAPIVolumeFile> | undefined;
}

export interface DownwardAPIVolumeFile {
  readonly fieldRef?: ObjectFieldSelector | undefined;
  readonly mode?: number | undefined;
  readonly path: string;
  readonly resourceFieldRef?: ResourceFieldSelector | undefined;
}

export interface DownwardAPIVolumeSource {
  readonly defaultMode?: number | undefined;
  readonly items?: ReadonlyArray<DownwardAPIVolumeFile> | undefined;
}

export interface EmptyDirVolumeSource {
  readonly medium?: string | undefined;
  readonly sizeLimit?: Quantity | undefined;
}

export interface EnvFromSource {
  readonly configMapRef?: ConfigMapEnvSource | undefined;
  readonly prefix?: string | undefined;
  readonly secretRef?: SecretEnvSource | undefined;
}

export interface EnvVar {
  readonly name: string;
  readonly value?: string | undefined;
  readonly valueFrom?: EnvVarSource | undefined;
}

export interface EnvVarSource {
  readonly configMapKeyRef?: ConfigMapKeySelector | undefined;
  readonly fieldRef?: ObjectFieldSelector | undefined;
  readonly fileKeyRef?: FileKeySelector | undefined;
  readonly resourceFieldRef?: ResourceFieldSelector | undefined;
  readonly secretKeyRef?: SecretKeySelector | undefined;
}

export interface EphemeralContainer {
  readonly args?: ReadonlyArray<string> | undefined;
  readonly command?: ReadonlyArray<string> | undefined;
  readonly env?: ReadonlyArray<EnvVar> | undefined;
  readonly envFrom?: ReadonlyArray<EnvFromSource> | undefined;
  readonly image?: string | undefined;
  readonly imagePullPolicy?: string | undefined;
  readonly lifecycle?: Lifecycle | undefined;
  readonly livenessProbe?: Probe | undefined;
  readonly name: string;
  readonly ports?: ReadonlyArray<ContainerPort> | undefined;
  readonly readinessProbe?: Probe | undefined;
  readonly resizePolicy?: ReadonlyArray<ContainerResizePolicy> | undefined;
  readonly resources?: ResourceRequirements | undefined;
  readonly restartPolicy?: string | undefined;
  readonly restartPolicyRules?: ReadonlyArray<ContainerRestartRule> | undefined;
  readonly securityContext?: SecurityContext | undefined;
  readonly startupProbe?: Probe | undefined;
  readonly stdin?: boolean | undefined;
  readonly stdinOnce?: boolean | undefined;
  readonly targetContainerName?: string | undefined;
  readonly terminationMessagePath?: string | undefined;
  readonly terminationMessagePolicy?: string | undefined;
  readonly tty?: boolean | undefined;
  readonly volumeDevices?: ReadonlyArray<VolumeDevice> | undefined;
  readonly volumeMounts?: ReadonlyArray<VolumeMount> | undefined;
  readonly workingDir?: string | undefined;
}

export interface EphemeralVolumeSource {
  readonly volumeClaimTemplate?: PersistentVolumeClaimTemplate | undefined;
}

export interface Event {
  readonly action?: string | undefined;
  readonly apiVersion?: string | undefined;
  readonly count?: number | undefined;
  readonly eventTime?: Time | undefined;
  readonly firstTimestamp?: Time | undefined;
  readonly involvedObject: ObjectReference;
  readonly kind?: string | undefined;
  readonly lastTimestamp?: Time | undefined;
  readonly message?: string | undefined;
  readonly metadata: NamedMeta;
  readonly reason?: string | undefined;
  readonly related?: ObjectReference | undefined;
  readonly reportingComponent?: string | undefined;
  readonly reportingInstance?: string | undefined;
  readonly series?: EventSeries | undefined;
  readonly source?: EventSource | undefined;
  readonly type?: string | undefined;
}

export interface EventSeries {
  readonly count?: number | undefined;
  readonly lastObservedTime?: Time | undefined;
}

export interface EventSource {
  readonly component?: string | undefined;
  readonly host?: string | undefined;
}

export interface ExactDeviceRequest {
  readonly adminAccess?: boolean | undefined;
  readonly allocationMode?: string | undefined;
  readonly capacity?: CapacityRequirements | undefined;
  readonly count?: number | undefined;
  readonly deviceClassName: string;
  readonly selectors?: ReadonlyArray<DeviceSelector> | undefined;
  readonly tolerations?: ReadonlyArray<DeviceToleration> | undefined;
}

export interface ExecAction {
  readonly command?: ReadonlyArray<string> | undefined;
}

export interface FCVolumeSource {
  readonly fsType?: string | undefined;
  readonly lun?: number | undefined;
  readonly readOnly?: boolean | undefined;
  readonly targetWWNs?: ReadonlyArray<string> | undefined;
  readonly wwids?: ReadonlyArray<string> | undefined;
}

export interface FieldSelectorAttributes {
  readonly rawSelector?: string | undefined;
  readonly requirements?: ReadonlyArray<FieldSelectorRequirement> | undefined;
}

export interface FieldSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: ReadonlyArray<string> | undefined;
}

export interface FileKeySelector {
  readonly key: string;
  readonly optional?: boolean | undefined;
  readonly path: string;
  readonly volumeName: string;
}

export interface FlexPersistentVolumeSource {
  readonly driver: string;
  readonly fsType?: string | undefined;
  readonly options?: Readonly<Record<string, string>> | undefined;
  readonly readOnly?: boolean | undefined;
  readonly secretRef?: SecretReference | undefined;
}

export interface FlexVolumeSource {
  readonly driver: string;
  readonly fsType?: string | undefined;
  readonly options?: Readonly<Record<string, string>> | undefined;
  readonly readOnly?: boolean | undefined;
  readonly secretRef?: LocalObjectReference | undefined;
}

export interface FlockerVolumeSource {
  readonly datasetName?: string | undefined;
  readonly datasetUUID?: string | undefined;
}

export interface GCEPersistentDiskVolumeSource {
  readonly fsType?: string | undefined;
  readonly partition?: number | undefined;
  readonly pdName: string;
  readonly readOnly?: boolean | undefined;
}

export interface GRPCAction {
  readonly port: number;
  readonly service?: string | undefined;
}

export interface GitRepoVolumeSource {
  readonly directory?: string | undefined;
  readonly repository: string;
  readonly revision?: string | undefined;
}

export interface GlusterfsPersistentVolumeSource {
  readonly endpoints: string;
  readonly endpointsNamespace?: string | undefined;
  readonly path: string;
  readonly readOnly?: boolean | undefined;
}

export interface GlusterfsVolumeSource {
  readonly endpoints: string;
  readonly path: string;
  readonly readOnly?: boolean | undefined;
}

export interface HTTPGetAction {
  readonly host?: string | undefined;
  readonly httpHeaders?: ReadonlyArray<HTTPHeader> | undefined;
  readonly path?: string | undefined;
  readonly port: IntOrString;
  readonly scheme?: string | undefined;
}

export interface HTTPHeader {
  readonly name: string;
  readonly value: string;
}

export interface HostAlias {
  readonly hostnames?: ReadonlyArray<string> | undefined;
  readonly ip: string;
}

export interface HostIP {
  readonly ip: string;
}

export interface HostPathVolumeSource {
  readonly path: string;
  readonly type?: string | undefined;
}

export interface ISCSIPersistentVolumeSource {
  readonly chapAuthDiscovery?: boolean | undefined;
  readonly chapAuthSession?: boolean | undefined;
  readonly fsType?: string | undefined;
  readonly initiatorName?: string | undefined;
  readonly iqn: string;
  readonly iscsiInterface?: string | undefined;
  readonly lun: number;
  readonly portals?: ReadonlyArray<string> | undefined;
  readonly readOnly?: boolean | undefined;
  readonly secretRef?: SecretReference | undefined;
  readonly targetPortal: string;
}

export interface ISCSIVolumeSource {
  readonly chapAuthDiscovery?: boolean | undefined;
  readonly chapAuthSession?: boolean | undefined;
  readonly fsType?: string | undefined;
  readonly initiatorName?: string | undefined;
  readonly iqn: string;
  readonly iscsiInterface?: string | undefined;
  readonly lun: number;
  readonly portals?: ReadonlyArray<string> | undefined;
  readonly readOnly?: boolean | undefined;
  readonly secretRef?: LocalObjectReference | undefined;
  readonly targetPortal: string;
}

export interface ImageVolumeSource {
  readonly pullPolicy?: string | undefined;
  readonly reference?: string | undefined;
}

export interface ImageVolumeStatus {
  readonly imageRef: string;
}

export interface KeyToPath {
  readonly key: string;
  readonly mode?: number | undefined;
  readonly path: string;
}

export interface LabelSelector {
  readonly matchExpressions?: ReadonlyArray<LabelSelectorRequirement> | undefined;
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
}

export interface LabelSelectorAttributes {
  readonly rawSelector?: string | undefined;
  readonly requirements?: ReadonlyArray<LabelSelectorRequirement> | undefined;
}

export interface LabelSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: ReadonlyArray<string> | undefined;
}

export interface Lease {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly spec: LeaseSpec;
}

export interface LeaseSpec {
  readonly acquireTime?: Time | undefined;
  readonly holderIdentity?: string | undefined;
  readonly leaseDurationSeconds?: number | undefined;
  readonly leaseTransitions?: number | undefined;
  readonly preferredHolder?: string | undefined;
  readonly renewTime?: Time | undefined;
  readonly strategy?: string | undefined;
}

export interface Lifecycle {
  readonly postStart?: LifecycleHandler | undefined;
  readonly preStop?: LifecycleHandler | undefined;
  readonly stopSignal?: string | undefined;
}

export interface LifecycleHandler {
  readonly exec?: ExecAction | undefined;
  readonly httpGet?: HTTPGetAction | undefined;
  readonly sleep?: SleepAction | undefined;
  readonly tcpSocket?: TCPSocketAction | undefined;
}

export interface LinuxContainerUser {
  readonly gid: number;
  readonly supplementalGroups?: ReadonlyArray<number> | undefined;
  readonly uid: number;
}

export interface ListMeta {
  readonly continue?: string | undefined;
  readonly remainingItemCount?: number | undefined;
  readonly resourceVersion?: string | undefined;
  readonly selfLink?: string | undefined;
  readonly shardInfo?: ShardInfo | undefined;
}

export interface LoadBalancerIngress {
  readonly hostname?: string | undefined;
  readonly ip?: string | undefined;
  readonly ipMode?: string | undefined;
  readonly ports?: ReadonlyArray<PortStatus> | undefined;
}

export interface LoadBalancerStatus {
  readonly ingress?: ReadonlyArray<LoadBalancerIngress> | undefined;
}

export interface LocalObjectReference {
  readonly name?: string | undefined;
}

export interface LocalVolumeSource {
  readonly fsType?: string | undefined;
  readonly path: string;
}

export interface ManagedFieldsEntry {
  readonly apiVersion?: string | undefined;
  readonly fieldsType?: string | undefined;
  readonly fieldsV1?: Readonly<Record<string, unknown>> | undefined;
  readonly manager?: string | undefined;
  readonly operation?: string | undefined;
  readonly subresource?: string | undefined;
  readonly time?: Time | undefined;
}

export interface ModifyVolumeStatus {
  readonly status: string;
  readonly targetVolumeAttributesClassName?: string | undefined;
}

export interface NFSVolumeSource {
  readonly path: string;
  readonly readOnly?: boolean | undefined;
  readonly server: string;
}

export interface NetworkDeviceData {
  readonly hardwareAddress?: string | undefined;
  readonly interfaceName?: string | undefined;
  readonly ips?: ReadonlyArray<string> | undefined;
}

export interface Node {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly spec: NodeSpec;
  readonly status?: NodeStatus | undefined;
}

export interface NodeAddress {
  readonly address: string;
  readonly type: string;
}

export interface NodeAffinity {
  readonly preferredDuringSchedulingIgnoredDuringExecution?: ReadonlyArray<PreferredSchedulingTerm> | undefined;
  readonly requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector | undefined;
}

export interface NodeAllocatableResourceClaimStatus {
  readonly containers?: ReadonlyArray<string> | undefined;
  readonly resourceClaimName: string;
  readonly resources: Readonly<Record<string, Quantity>>;
}

export interface NodeAllocatableResourceMapping {
  readonly allocationMultiplier?: Quantity | undefined;
  readonly capacityKey?: string | undefined;
}

export interface NodeCondition {
  readonly lastHeartbeatTime?: Time | undefined;
  readonly lastTransitionTime?: Time | undefined;
  readonly message?: string | undefined;
  readonly reason?: string | undefined;
  readonly status: string;
  readonly type: string;
}

export interface NodeConfigSource {
  readonly configMap?: ConfigMapNodeConfigSource | undefined;
}

export interface NodeConfigStatus {
  readonly active?: NodeConfigSource | undefined;
  readonly assigned?: NodeConfigSource | undefined;
  readonly error?: string | undefined;
  readonly lastKnownGood?: NodeConfigSource | undefined;
}

export interface NodeDaemonEndpoints {
  readonly kubeletEndpoint?: DaemonEndpoint | undefined;
}

export interface NodeFeatures {
  readonly supplementalGroupsPolicy?: boolean | undefined;
}

export interface NodeList {
  readonly apiVersion?: string | undefined;
  readonly items: ReadonlyArray<Node>;
  readonly kind?: string | undefined;
  readonly metadata?: ListMeta | undefined;
}

export interface NodeRuntimeHandler {
  readonly features?: NodeRuntimeHandlerFeatures | undefined;
  readonly name?: string | undefined;
}

export interface NodeRuntimeHandlerFeatures {
  readonly recursiveReadOnlyMounts?: boolean | undefined;
  readonly userNamespaces?: boolean | undefined;
}

export interface NodeSelector {
  readonly nodeSelectorTerms: ReadonlyArray<NodeSelectorTerm>;
}

export interface NodeSelectorRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: ReadonlyArray<string> | undefined;
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: ReadonlyArray<NodeSelectorRequirement> | undefined;
  readonly matchFields?: ReadonlyArray<NodeSelectorRequirement> | undefined;
}

export interface NodeSpec {
  readonly configSource?: NodeConfigSource | undefined;
  readonly externalID?: string | undefined;
  readonly podCIDR?: string | undefined;
  readonly podCIDRs?: ReadonlyArray<string> | undefined;
  readonly providerID?: string | undefined;
  readonly taints?: ReadonlyArray<Taint> | undefined;
  readonly unschedulable?: boolean | undefined;
}

export interface NodeStatus {
  readonly addresses?: ReadonlyArray<NodeAddress> | undefined;
  readonly allocatable?: Readonly<Record<string, Quantity>> | undefined;
  readonly capacity?: Readonly<Record<string, Quantity>> | undefined;
  readonly conditions?: ReadonlyArray<NodeCondition> | undefined;
  readonly config?: NodeConfigStatus | undefined;
  readonly daemonEndpoints?: NodeDaemonEndpoints | undefined;
  readonly declaredFeatures?: ReadonlyArray<string> | undefined;
  readonly features?: NodeFeatures | undefined;
  readonly images?: ReadonlyArray<ContainerImage> | undefined;
  readonly nodeInfo?: NodeSystemInfo | undefined;
  readonly phase?: string | undefined;
  readonly runtimeHandlers?: ReadonlyArray<NodeRuntimeHandler> | undefined;
  readonly volumesAttached?: ReadonlyArray<AttachedVolume> | undefined;
  readonly volumesInUse?: ReadonlyArray<string> | undefined;
}

export interface NodeSwapStatus {
  readonly capacity?: number | undefined;
}

export interface NodeSystemInfo {
  readonly architecture: string;
  readonly bootID: string;
  readonly containerRuntimeVersion: string;
  readonly kernelVersion: string;
  readonly kubeProxyVersion: string;
  readonly kubeletVersion: string;
  readonly machineID: string;
  readonly operatingSystem: string;
  readonly osImage: string;
  readonly swap?: NodeSwapStatus | undefined;
  readonly systemUUID: string;
}

export interface NonResourceAttributes {
  readonly path?: string | undefined;
  readonly verb?: string | undefined;
}

export interface ObjectFieldSelector {
  readonly apiVersion?: string | undefined;
  readonly fieldPath: string;
}

export interface ObjectMeta {
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly creationTimestamp?: Time | undefined;
  readonly deletionGracePeriodSeconds?: number | undefined;
  readonly deletionTimestamp?: Time | undefined;
  readonly finalizers?: ReadonlyArray<string> | undefined;
  readonly generateName?: string | undefined;
  readonly generation?: number | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly managedFields?: ReadonlyArray<ManagedFieldsEntry> | undefined;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly ownerReferences?: ReadonlyArray<OwnerReference> | undefined;
  readonly resourceVersion?: string | undefined;
  readonly selfLink?: string | undefined;
  readonly uid?: string | undefined;
}

export interface ObjectReference {
  readonly apiVersion?: string | undefined;
  readonly fieldPath?: string | undefined;
  readonly kind?: string | undefined;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly uid?: string | undefined;
}

export interface OpaqueDeviceConfiguration {
  readonly driver: string;
  readonly parameters: RawExtension;
}

export interface Overhead {
  readonly podFixed?: Readonly<Record<string, Quantity>> | undefined;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly blockOwnerDeletion?: boolean | undefined;
  readonly controller?: boolean | undefined;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export interface PersistentVolume {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly spec: PersistentVolumeSpec;
  readonly status?: PersistentVolumeStatus | undefined;
}

export interface PersistentVolumeClaim {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly spec: PersistentVolumeClaimSpec;
  readonly status?: PersistentVolumeClaimStatus | undefined;
}

export interface PersistentVolumeClaimCondition {
  readonly lastProbeTime?: Time | undefined;
  readonly lastTransitionTime?: Time | undefined;
  readonly message?: string | undefined;
  readonly reason?: string | undefined;
  readonly status: string;
  readonly type: string;
}

export interface PersistentVolumeClaimList {
  readonly apiVersion?: string | undefined;
  readonly items: ReadonlyArray<PersistentVolumeClaim>;
  readonly kind?: string | undefined;
  readonly metadata?: ListMeta | undefined;
}

export interface PersistentVolumeClaimSpec {
  readonly accessModes?: ReadonlyArray<string> | undefined;
  readonly dataSource?: TypedLocalObjectReference | undefined;
  readonly dataSourceRef?: TypedObjectReference | undefined;
  readonly resources?: VolumeResourceRequirements | undefined;
  readonly selector?: LabelSelector | undefined;
  readonly storageClassName?: string | undefined;
  readonly volumeAttributesClassName?: string | undefined;
  readonly volumeMode?: string | undefined;
  readonly volumeName?: string | undefined;
}

export interface PersistentVolumeClaimStatus {
  readonly accessModes?: ReadonlyArray<string> | undefined;
  readonly allocatedResourceStatuses?: Readonly<Record<string, string>> | undefined;
  readonly allocatedResources?: Readonly<Record<string, Quantity>> | undefined;
  readonly capacity?: Readonly<Record<string, Quantity>> | undefined;
  readonly conditions?: ReadonlyArray<PersistentVolumeClaimCondition> | undefined;
  readonly currentVolumeAttributesClassName?: string | undefined;
  readonly modifyVolumeStatus?: ModifyVolumeStatus | undefined;
  readonly phase?: string | undefined;
}

export interface PersistentVolumeClaimTemplate {
  readonly metadata?: ObjectMeta | undefined;
  readonly spec: PersistentVolumeClaimSpec;
}

export interface PersistentVolumeClaimVolumeSource {
  readonly claimName: string;
  readonly readOnly?: boolean | undefined;
}

export interface PersistentVolumeList {
  readonly apiVersion?: string | undefined;
  readonly items: ReadonlyArray<PersistentVolume>;
  readonly kind?: string | undefined;
  readonly metadata?: ListMeta | undefined;
}

export interface PersistentVolumeSpec {
  readonly accessModes?: ReadonlyArray<string> | undefined;
  readonly awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource | undefined;
  readonly azureDisk?: AzureDiskVolumeSource | undefined;
  readonly azureFile?: AzureFilePersistentVolumeSource | undefined;
  readonly capacity?: Readonly<Record<string, Quantity>> | undefined;
  readonly cephfs?: CephFSPersistentVolumeSource | undefined;
  readonly cinder?: CinderPersistentVolumeSource | undefined;
  readonly claimRef?: ObjectReference | undefined;
  readonly csi?: CSIPersistentVolumeSource | undefined;
  readonly fc?: FCVolumeSource | undefined;
  readonly flexVolume?: FlexPersistentVolumeSource | undefined;
  readonly flocker?: FlockerVolumeSource | undefined;
  readonly gcePersistentDisk?: GCEPersistentDiskVolumeSource | undefined;
  readonly glusterfs?: GlusterfsPersistentVolumeSource | undefined;
  readonly hostPath?: HostPathVolumeSource | undefined;
  readonly iscsi?: ISCSIPersistentVolumeSource | undefined;
  readonly local?: LocalVolumeSource | undefined;
  readonly mountOptions?: ReadonlyArray<string> | undefined;
  readonly nfs?: NFSVolumeSource | undefined;
  readonly nodeAffinity?: VolumeNodeAffinity | undefined;
  readonly persistentVolumeReclaimPolicy?: string | undefined;
  readonly photonPersistentDisk?: PhotonPersistentDiskVolumeSource | undefined;
  readonly portworxVolume?: PortworxVolumeSource | undefined;
  readonly quobyte?: QuobyteVolumeSource | undefined;
  readonly rbd?: RBDPersistentVolumeSource | undefined;
  readonly scaleIO?: ScaleIOPersistentVolumeSource | undefined;
  readonly storageClassName?: string | undefined;
  readonly storageos?: StorageOSPersistentVolumeSource | undefined;
  readonly volumeAttributesClassName?: string | undefined;
  readonly volumeMode?: string | undefined;
  readonly vsphereVolume?: VsphereVirtualDiskVolumeSource | undefined;
}

export interface PersistentVolumeStatus {
  readonly lastPhaseTransitionTime?: Time | undefined;
  readonly message?: string | undefined;
  readonly phase?: string | undefined;
  readonly reason?: string | undefined;
}

export interface PhotonPersistentDiskVolumeSource {
  readonly fsType?: string | undefined;
  readonly pdID: string;
}

export interface Pod {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: PodMeta;
  readonly spec: PodSpec;
  readonly status?: PodStatus | undefined;
}

export interface PodAffinity {
  readonly preferredDuringSchedulingIgnoredDuringExecution?: ReadonlyArray<WeightedPodAffinityTerm> | undefined;
  readonly requiredDuringSchedulingIgnoredDuringExecution?: ReadonlyArray<PodAffinityTerm> | undefined;
}

export interface PodAffinityTerm {
  readonly labelSelector?: LabelSelector | undefined;
  readonly matchLabelKeys?: ReadonlyArray<string> | undefined;
  readonly mismatchLabelKeys?: ReadonlyArray<string> | undefined;
  readonly namespaceSelector?: LabelSelector | undefined;
  readonly namespaces?: ReadonlyArray<string> | undefined;
  readonly topologyKey: string;
}

export interface PodAntiAffinity {
  readonly preferredDuringSchedulingIgnoredDuringExecution?: ReadonlyArray<WeightedPodAffinityTerm> | undefined;
  readonly requiredDuringSchedulingIgnoredDuringExecution?: ReadonlyArray<PodAffinityTerm> | undefined;
}

export interface PodCertificateProjection {
  readonly certificateChainPath?: string | undefined;
  readonly credentialBundlePath?: string | undefined;
  readonly keyPath?: string | undefined;
  readonly keyType: string;
  readonly maxExpirationSeconds?: number | undefined;
  readonly signerName: string;
  readonly userAnnotations?: Readonly<Record<string, string>> | undefined;
}

export interface PodCertificateRequest {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly spec: PodCertificateRequestSpec;
  readonly status?: PodCertificateRequestStatus | undefined;
}

export interface PodCertificateRequestSpec {
  readonly maxExpirationSeconds?: number | undefined;
  readonly nodeName: string;
  readonly nodeUID: string;
  readonly pkixPublicKey?: string | undefined;
  readonly podName: string;
  readonly podUID: string;
  readonly proofOfPossession?: string | undefined;
  readonly serviceAccountName: string;
  readonly serviceAccountUID: string;
  readonly signerName: string;
  readonly stubPKCS10Request: string;
  readonly unverifiedUserAnnotations?: Readonly<Record<string, string>> | undefined;
}

export interface PodCertificateRequestStatus {
  readonly beginRefreshAt?: Time | undefined;
  readonly certificateChain?: string | undefined;
  readonly conditions?: ReadonlyArray<Condition> | undefined;
  readonly notAfter?: Time | undefined;
  readonly notBefore?: Time | undefined;
}

export interface PodCondition {
  readonly lastProbeTime?: Time | undefined;
  readonly lastTransitionTime?: Time | undefined;
  readonly message?: string | undefined;
  readonly observedGeneration?: number | undefined;
  readonly reason?: string | undefined;
  readonly status: string;
  readonly type: string;
}

export interface PodDNSConfig {
  readonly nameservers?: ReadonlyArray<string> | undefined;
  readonly options?: ReadonlyArray<PodDNSConfigOption> | undefined;
  readonly searches?: ReadonlyArray<string> | undefined;
}

export interface PodDNSConfigOption {
  readonly name?: string | undefined;
  readonly value?: string | undefined;
}

export interface PodExtendedResourceClaimStatus {
  readonly requestMappings: ReadonlyArray<ContainerExtendedResourceRequest>;
  readonly resourceClaimName: string;
}

export interface PodIP {
  readonly ip: string;
}

export interface PodList {
  readonly apiVersion?: string | undefined;
  readonly items: ReadonlyArray<Pod>;
  readonly kind?: string | undefined;
  readonly metadata?: ListMeta | undefined;
}

export interface PodOS {
  readonly name: string;
}

export interface PodReadinessGate {
  readonly conditionType: string;
}

export interface PodResourceClaim {
  readonly name: string;
  readonly resourceClaimName?: string | undefined;
  readonly resourceClaimTemplateName?: string | undefined;
}

export interface PodResourceClaimStatus {
  readonly name: string;
  readonly resourceClaimName?: string | undefined;
}

export interface PodSchedulingGate {
  readonly name: string;
}

export interface PodSchedulingGroup {
  readonly podGroupName?: string | undefined;
}

export interface PodSecurityContext {
  readonly appArmorProfile?: AppArmorProfile | undefined;
  readonly fsGroup?: number | undefined;
  readonly fsGroupChangePolicy?: string | undefined;
  readonly runAsGroup?: number | undefined;
  readonly runAsNonRoot?: boolean | undefined;
  readonly runAsUser?: number | undefined;
  readonly seLinuxChangePolicy?: string | undefined;
  readonly seLinuxOptions?: SELinuxOptions | undefined;
  readonly seccompProfile?: SeccompProfile | undefined;
  readonly supplementalGroups?: ReadonlyArray<number> | undefined;
  readonly supplementalGroupsPolicy?: string | undefined;
  readonly sysctls?: ReadonlyArray<Sysctl> | undefined;
  readonly windowsOptions?: WindowsSecurityContextOptions | undefined;
}

export interface PodSpec {
  readonly activeDeadlineSeconds?: number | undefined;
  readonly affinity?: Affinity | undefined;
  readonly automountServiceAccountToken?: boolean | undefined;
  readonly containers: ReadonlyArray<Container>;
  readonly dnsConfig?: PodDNSConfig | undefined;
  readonly dnsPolicy?: string | undefined;
  readonly enableServiceLinks?: boolean | undefined;
  readonly ephemeralContainers?: ReadonlyArray<EphemeralContainer> | undefined;
  readonly hostAliases?: ReadonlyArray<HostAlias> | undefined;
  readonly hostIPC?: boolean | undefined;
  readonly hostNetwork?: boolean | undefined;
  readonly hostPID?: boolean | undefined;
  readonly hostUsers?: boolean | undefined;
  readonly hostname?: string | undefined;
  readonly hostnameOverride?: string | undefined;
  readonly imagePullSecrets?: ReadonlyArray<LocalObjectReference> | undefined;
  readonly initContainers?: ReadonlyArray<Container> | undefined;
  readonly nodeName?: string | undefined;
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined;
  readonly os?: PodOS | undefined;
  readonly overhead?: Readonly<Record<string, Quantity>> | undefined;
  readonly preemptionPolicy?: string | undefined;
  readonly priority?: number | undefined;
  readonly priorityClassName?: string | undefined;
  readonly readinessGates?: ReadonlyArray<PodReadinessGate> | undefined;
  readonly resourceClaims?: ReadonlyArray<PodResourceClaim> | undefined;
  readonly resources?: ResourceRequirements | undefined;
  readonly restartPolicy?: string | undefined;
  readonly runtimeClassName?: string | undefined;
  readonly schedulerName?: string | undefined;
  readonly schedulingGates?: ReadonlyArray<PodSchedulingGate> | undefined;
  readonly schedulingGroup?: PodSchedulingGroup | undefined;
  readonly securityContext?: PodSecurityContext | undefined;
  readonly serviceAccount?: string | undefined;
  readonly serviceAccountName?: string | undefined;
  readonly setHostnameAsFQDN?: boolean | undefined;
  readonly shareProcessNamespace?: boolean | undefined;
  readonly subdomain?: string | undefined;
  readonly terminationGracePeriodSeconds?: number | undefined;
  readonly tolerations?: ReadonlyArray<Toleration> | undefined;
  readonly topologySpreadConstraints?: ReadonlyArray<TopologySpreadConstraint> | undefined;
  readonly volumes?: ReadonlyArray<Volume> | undefined;
}

export interface PodStatus {
  readonly allocatedResources?: Readonly<Record<string, Quantity>> | undefined;
  readonly conditions?: ReadonlyArray<PodCondition> | undefined;
  readonly containerStatuses?: ReadonlyArray<ContainerStatus> | undefined;
  readonly ephemeralContainerStatuses?: ReadonlyArray<ContainerStatus> | undefined;
  readonly extendedResourceClaimStatus?: PodExtendedResourceClaimStatus | undefined;
  readonly hostIP?: string | undefined;
  readonly hostIPs?: ReadonlyArray<HostIP> | undefined;
  readonly initContainerStatuses?: ReadonlyArray<ContainerStatus> | undefined;
  readonly message?: string | undefined;
  readonly nodeAllocatableResourceClaimStatuses?: ReadonlyArray<NodeAllocatableResourceClaimStatus> | undefined;
  readonly nominatedNodeName?: string | undefined;
  readonly observedGeneration?: number | undefined;
  readonly phase?: string | undefined;
  readonly podIP?: string | undefined;
  readonly podIPs?: ReadonlyArray<PodIP> | undefined;
  readonly qosClass?: string | undefined;
  readonly reason?: string | undefined;
  readonly resize?: string | undefined;
  readonly resourceClaimStatuses?: ReadonlyArray<PodResourceClaimStatus> | undefined;
  readonly resources?: ResourceRequirements | undefined;
  readonly startTime?: Time | undefined;
}

export interface PortStatus {
  readonly error?: string | undefined;
  readonly port: number;
  readonly protocol: string;
}

export interface PortworxVolumeSource {
  readonly fsType?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly volumeID: string;
}

export interface PreferredSchedulingTerm {
  readonly preference: NodeSelectorTerm;
  readonly weight: number;
}

export interface Probe {
  readonly exec?: ExecAction | undefined;
  readonly failureThreshold?: number | undefined;
  readonly grpc?: GRPCAction | undefined;
  readonly httpGet?: HTTPGetAction | undefined;
  readonly initialDelaySeconds?: number | undefined;
  readonly periodSeconds?: number | undefined;
  readonly successThreshold?: number | undefined;
  readonly tcpSocket?: TCPSocketAction | undefined;
  readonly terminationGracePeriodSeconds?: number | undefined;
  readonly timeoutSeconds?: number | undefined;
}

export interface ProjectedVolumeSource {
  readonly defaultMode?: number | undefined;
  readonly sources?: ReadonlyArray<VolumeProjection> | undefined;
}

export interface QuobyteVolumeSource {
  readonly group?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly registry: string;
  readonly tenant?: string | undefined;
  readonly user?: string | undefined;
  readonly volume: string;
}

export interface RBDPersistentVolumeSource {
  readonly fsType?: string | undefined;
  readonly image: string;
  readonly keyring?: string | undefined;
  readonly monitors: ReadonlyArray<string>;
  readonly pool?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly secretRef?: SecretReference | undefined;
  readonly user?: string | undefined;
}

export interface RBDVolumeSource {
  readonly fsType?: string | undefined;
  readonly image: string;
  readonly keyring?: string | undefined;
  readonly monitors: ReadonlyArray<string>;
  readonly pool?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly secretRef?: LocalObjectReference | undefined;
  readonly user?: string | undefined;
}

export type RawExtension = Readonly<Record<string, never>>;

export interface ResourceAttributes {
  readonly fieldSelector?: FieldSelectorAttributes | undefined;
  readonly group?: string | undefined;
  readonly labelSelector?: LabelSelectorAttributes | undefined;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly resource?: string | undefined;
  readonly subresource?: string | undefined;
  readonly verb?: string | undefined;
  readonly version?: string | undefined;
}

export interface ResourceClaim {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly spec: ResourceClaimSpec;
  readonly status?: ResourceClaimStatus | undefined;
}

export interface ResourceClaimConsumerReference {
  readonly apiGroup?: string | undefined;
  readonly name: string;
  readonly resource: string;
  readonly uid: string;
}

export interface ResourceClaimSpec {
  readonly devices?: DeviceClaim | undefined;
}

export interface ResourceClaimStatus {
  readonly allocation?: AllocationResult | undefined;
  readonly devices?: ReadonlyArray<AllocatedDeviceStatus> | undefined;
  readonly reservedFor?: ReadonlyArray<ResourceClaimConsumerReference> | undefined;
}

export interface ResourceFieldSelector {
  readonly containerName?: string | undefined;
  readonly divisor?: Quantity | undefined;
  readonly resource: string;
}

export interface ResourceHealth {
  readonly health?: string | undefined;
  readonly message?: string | undefined;
  readonly resourceID: string;
}

export interface ResourcePool {
  readonly generation: number;
  readonly name: string;
  readonly resourceSliceCount: number;
}

export interface ResourceRequirements {
  readonly claims?: ReadonlyArray<ContainerResourceClaim> | undefined;
  readonly limits?: Readonly<Record<string, Quantity>> | undefined;
  readonly requests?: Readonly<Record<string, Quantity>> | undefined;
}

export interface ResourceSlice {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly spec: ResourceSliceSpec;
}

export interface ResourceSliceList {
  readonly apiVersion?: string | undefined;
  readonly items: ReadonlyArray<ResourceSlice>;
  readonly kind?: string | undefined;
  readonly metadata?: ListMeta | undefined;
}

export interface ResourceSliceSpec {
  readonly allNodes?: boolean | undefined;
  readonly devices?: ReadonlyArray<Device> | undefined;
  readonly driver: string;
  readonly nodeName?: string | undefined;
  readonly nodeSelector?: NodeSelector | undefined;
  readonly perDeviceNodeSelection?: boolean | undefined;
  readonly pool: ResourcePool;
  readonly sharedCounters?: ReadonlyArray<CounterSet> | undefined;
}

export interface ResourceStatus {
  readonly name: string;
  readonly resources?: ReadonlyArray<ResourceHealth> | undefined;
}

export interface RuntimeClass {
  readonly apiVersion?: string | undefined;
  readonly handler: string;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly overhead?: Overhead | undefined;
  readonly scheduling?: Scheduling | undefined;
}

export interface RuntimeClassList {
  readonly apiVersion?: string | undefined;
  readonly items: ReadonlyArray<RuntimeClass>;
  readonly kind?: string | undefined;
  readonly metadata?: ListMeta | undefined;
}

export interface SELinuxOptions {
  readonly level?: string | undefined;
  readonly role?: string | undefined;
  readonly type?: string | undefined;
  readonly user?: string | undefined;
}

export interface ScaleIOPersistentVolumeSource {
  readonly fsType?: string | undefined;
  readonly gateway: string;
  readonly protectionDomain?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly secretRef: SecretReference;
  readonly sslEnabled?: boolean | undefined;
  readonly storageMode?: string | undefined;
  readonly storagePool?: string | undefined;
  readonly system: string;
  readonly volumeName?: string | undefined;
}

export interface ScaleIOVolumeSource {
  readonly fsType?: string | undefined;
  readonly gateway: string;
  readonly protectionDomain?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly secretRef: LocalObjectReference;
  readonly sslEnabled?: boolean | undefined;
  readonly storageMode?: string | undefined;
  readonly storagePool?: string | undefined;
  readonly system: string;
  readonly volumeName?: string | undefined;
}

export interface Scheduling {
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined;
  readonly tolerations?: ReadonlyArray<Toleration> | undefined;
}

export interface SeccompProfile {
  readonly localhostProfile?: string | undefined;
  readonly type: string;
}

export interface Secret {
  readonly apiVersion?: string | undefined;
  readonly data?: Readonly<Record<string, string>> | undefined;
  readonly immutable?: boolean | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly stringData?: Readonly<Record<string, string>> | undefined;
  readonly type?: string | undefined;
}

export interface SecretEnvSource {
  readonly name?: string | undefined;
  readonly optional?: boolean | undefined;
}

export interface SecretKeySelector {
  readonly key: string;
  readonly name?: string | undefined;
  readonly optional?: boolean | undefined;
}

export interface SecretList {
  readonly apiVersion?: string | undefined;
  readonly items: ReadonlyArray<Secret>;
  readonly kind?: string | undefined;
  readonly metadata?: ListMeta | undefined;
}

export interface SecretProjection {
  readonly items?: ReadonlyArray<KeyToPath> | undefined;
  readonly name?: string | undefined;
  readonly optional?: boolean | undefined;
}

export interface SecretReference {
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
}

export interface SecretVolumeSource {
  readonly defaultMode?: number | undefined;
  readonly items?: ReadonlyArray<KeyToPath> | undefined;
  readonly optional?: boolean | undefined;
  readonly secretName?: string | undefined;
}

export interface SecurityContext {
  readonly allowPrivilegeEscalation?: boolean | undefined;
  readonly appArmorProfile?: AppArmorProfile | undefined;
  readonly capabilities?: Capabilities | undefined;
  readonly privileged?: boolean | undefined;
  readonly procMount?: string | undefined;
  readonly readOnlyRootFilesystem?: boolean | undefined;
  readonly runAsGroup?: number | undefined;
  readonly runAsNonRoot?: boolean | undefined;
  readonly runAsUser?: number | undefined;
  readonly seLinuxOptions?: SELinuxOptions | undefined;
  readonly seccompProfile?: SeccompProfile | undefined;
  readonly windowsOptions?: WindowsSecurityContextOptions | undefined;
}

export interface Service {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly spec: ServiceSpec;
  readonly status?: ServiceStatus | undefined;
}

export interface ServiceAccount {
  readonly apiVersion?: string | undefined;
  readonly automountServiceAccountToken?: boolean | undefined;
  readonly imagePullSecrets?: ReadonlyArray<LocalObjectReference> | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly secrets?: ReadonlyArray<ObjectReference> | undefined;
}

export interface ServiceAccountTokenProjection {
  readonly audience?: string | undefined;
  readonly expirationSeconds?: number | undefined;
  readonly path: string;
}

export interface ServiceList {
  readonly apiVersion?: string | undefined;
  readonly items: ReadonlyArray<Service>;
  readonly kind?: string | undefined;
  readonly metadata?: ListMeta | undefined;
}

export interface ServicePort {
  readonly appProtocol?: string | undefined;
  readonly name?: string | undefined;
  readonly nodePort?: number | undefined;
  readonly port: number;
  readonly protocol?: string | undefined;
  readonly targetPort?: IntOrString | undefined;
}

export interface ServiceSpec {
  readonly allocateLoadBalancerNodePorts?: boolean | undefined;
  readonly clusterIP?: string | undefined;
  readonly clusterIPs?: ReadonlyArray<string> | undefined;
  readonly externalIPs?: ReadonlyArray<string> | undefined;
  readonly externalName?: string | undefined;
  readonly externalTrafficPolicy?: string | undefined;
  readonly healthCheckNodePort?: number | undefined;
  readonly internalTrafficPolicy?: string | undefined;
  readonly ipFamilies?: ReadonlyArray<string> | undefined;
  readonly ipFamilyPolicy?: string | undefined;
  readonly loadBalancerClass?: string | undefined;
  readonly loadBalancerIP?: string | undefined;
  readonly loadBalancerSourceRanges?: ReadonlyArray<string> | undefined;
  readonly ports?: ReadonlyArray<ServicePort> | undefined;
  readonly publishNotReadyAddresses?: boolean | undefined;
  readonly selector?: Readonly<Record<string, string>> | undefined;
  readonly sessionAffinity?: string | undefined;
  readonly sessionAffinityConfig?: SessionAffinityConfig | undefined;
  readonly trafficDistribution?: string | undefined;
  readonly type?: string | undefined;
}

export interface ServiceStatus {
  readonly conditions?: ReadonlyArray<Condition> | undefined;
  readonly loadBalancer?: LoadBalancerStatus | undefined;
}

export interface SessionAffinityConfig {
  readonly clientIP?: ClientIPConfig | undefined;
}

export interface ShardInfo {
  readonly selector: string;
}

export interface SleepAction {
  readonly seconds: number;
}

export interface Status {
  readonly apiVersion?: string | undefined;
  readonly code?: number | undefined;
  readonly details?: StatusDetails | undefined;
  readonly kind?: string | undefined;
  readonly message?: string | undefined;
  readonly metadata?: ListMeta | undefined;
  readonly reason?: string | undefined;
  readonly status?: string | undefined;
}

export interface StatusCause {
  readonly field?: string | undefined;
  readonly message?: string | undefined;
  readonly reason?: string | undefined;
}

export interface StatusDetails {
  readonly causes?: ReadonlyArray<StatusCause> | undefined;
  readonly group?: string | undefined;
  readonly kind?: string | undefined;
  readonly name?: string | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly uid?: string | undefined;
}

export interface StorageOSPersistentVolumeSource {
  readonly fsType?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly secretRef?: ObjectReference | undefined;
  readonly volumeName?: string | undefined;
  readonly volumeNamespace?: string | undefined;
}

export interface StorageOSVolumeSource {
  readonly fsType?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly secretRef?: LocalObjectReference | undefined;
  readonly volumeName?: string | undefined;
  readonly volumeNamespace?: string | undefined;
}

export interface SubjectAccessReview {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly spec: SubjectAccessReviewSpec;
  readonly status?: SubjectAccessReviewStatus | undefined;
}

export interface SubjectAccessReviewSpec {
  readonly extra?: Readonly<Record<string, ReadonlyArray<string>>> | undefined;
  readonly groups?: ReadonlyArray<string> | undefined;
  readonly nonResourceAttributes?: NonResourceAttributes | undefined;
  readonly resourceAttributes?: ResourceAttributes | undefined;
  readonly uid?: string | undefined;
  readonly user?: string | undefined;
}

export interface SubjectAccessReviewStatus {
  readonly allowed: boolean;
  readonly denied?: boolean | undefined;
  readonly evaluationError?: string | undefined;
  readonly reason?: string | undefined;
}

export interface Sysctl {
  readonly name: string;
  readonly value: string;
}

export interface TCPSocketAction {
  readonly host?: string | undefined;
  readonly port: IntOrString;
}

export interface Taint {
  readonly effect: string;
  readonly key: string;
  readonly timeAdded?: Time | undefined;
  readonly value?: string | undefined;
}

export interface TokenRequest {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly spec: TokenRequestSpec;
  readonly status?: TokenRequestStatus | undefined;
}

export interface TokenRequestSpec {
  readonly audiences?: ReadonlyArray<string> | undefined;
  readonly boundObjectRef?: BoundObjectReference | undefined;
  readonly expirationSeconds?: number | undefined;
}

export interface TokenRequestStatus {
  readonly expirationTimestamp?: Time | undefined;
  readonly token?: string | undefined;
}

export interface TokenReview {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly spec: TokenReviewSpec;
  readonly status?: TokenReviewStatus | undefined;
}

export interface TokenReviewSpec {
  readonly audiences?: ReadonlyArray<string> | undefined;
  readonly token: string;
}

export interface TokenReviewStatus {
  readonly audiences?: ReadonlyArray<string> | undefined;
  readonly authenticated?: boolean | undefined;
  readonly error?: string | undefined;
  readonly user?: UserInfo | undefined;
}

export interface Toleration {
  readonly effect?: string | undefined;
  readonly key?: string | undefined;
  readonly operator?: string | undefined;
  readonly tolerationSeconds?: number | undefined;
  readonly value?: string | undefined;
}

export interface TopologySpreadConstraint {
  readonly labelSelector?: LabelSelector | undefined;
  readonly matchLabelKeys?: ReadonlyArray<string> | undefined;
  readonly maxSkew: number;
  readonly minDomains?: number | undefined;
  readonly nodeAffinityPolicy?: string | undefined;
  readonly nodeTaintsPolicy?: string | undefined;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: string;
}

export interface TypedLocalObjectReference {
  readonly apiGroup?: string | undefined;
  readonly kind: string;
  readonly name: string;
}

export interface TypedObjectReference {
  readonly apiGroup?: string | undefined;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string | undefined;
}

export interface UserInfo {
  readonly extra?: Readonly<Record<string, ReadonlyArray<string>>> | undefined;
  readonly groups?: ReadonlyArray<string> | undefined;
  readonly uid?: string | undefined;
  readonly username?: string | undefined;
}

export interface Volume {
  readonly awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource | undefined;
  readonly azureDisk?: AzureDiskVolumeSource | undefined;
  readonly azureFile?: AzureFileVolumeSource | undefined;
  readonly cephfs?: CephFSVolumeSource | undefined;
  readonly cinder?: CinderVolumeSource | undefined;
  readonly configMap?: ConfigMapVolumeSource | undefined;
  readonly csi?: CSIVolumeSource | undefined;
  readonly downwardAPI?: DownwardAPIVolumeSource | undefined;
  readonly emptyDir?: EmptyDirVolumeSource | undefined;
  readonly ephemeral?: EphemeralVolumeSource | undefined;
  readonly fc?: FCVolumeSource | undefined;
  readonly flexVolume?: FlexVolumeSource | undefined;
  readonly flocker?: FlockerVolumeSource | undefined;
  readonly gcePersistentDisk?: GCEPersistentDiskVolumeSource | undefined;
  readonly gitRepo?: GitRepoVolumeSource | undefined;
  readonly glusterfs?: GlusterfsVolumeSource | undefined;
  readonly hostPath?: HostPathVolumeSource | undefined;
  readonly image?: ImageVolumeSource | undefined;
  readonly iscsi?: ISCSIVolumeSource | undefined;
  readonly name: string;
  readonly nfs?: NFSVolumeSource | undefined;
  readonly persistentVolumeClaim?: PersistentVolumeClaimVolumeSource | undefined;
  readonly photonPersistentDisk?: PhotonPersistentDiskVolumeSource | undefined;
  readonly portworxVolume?: PortworxVolumeSource | undefined;
  readonly projected?: ProjectedVolumeSource | undefined;
  readonly quobyte?: QuobyteVolumeSource | undefined;
  readonly rbd?: RBDVolumeSource | undefined;
  readonly scaleIO?: ScaleIOVolumeSource | undefined;
  readonly secret?: SecretVolumeSource | undefined;
  readonly storageos?: StorageOSVolumeSource | undefined;
  readonly vsphereVolume?: VsphereVirtualDiskVolumeSource | undefined;
}

export interface VolumeAttachment {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: NamedMeta;
  readonly spec: VolumeAttachmentSpec;
  readonly status?: VolumeAttachmentStatus | undefined;
}

export interface VolumeAttachmentSource {
  readonly inlineVolumeSpec?: PersistentVolumeSpec | undefined;
  readonly persistentVolumeName?: string | undefined;
}

export interface VolumeAttachmentSpec {
  readonly attacher: string;
  readonly nodeName: string;
  readonly source: VolumeAttachmentSource;
}

export interface VolumeAttachmentStatus {
  readonly attachError?: VolumeError | undefined;
  readonly attached: boolean;
  readonly attachmentMetadata?: Readonly<Record<string, string>> | undefined;
  readonly detachError?: VolumeError | undefined;
}

export interface VolumeDevice {
  readonly devicePath: string;
  readonly name: string;
}

export interface VolumeError {
  readonly errorCode?: number | undefined;
  readonly message?: string | undefined;
  readonly time?: Time | undefined;
}

export interface VolumeMount {
  readonly mountPath: string;
  readonly mountPropagation?: string | undefined;
  readonly name: string;
  readonly readOnly?: boolean | undefined;
  readonly recursiveReadOnly?: string | undefined;
  readonly subPath?: string | undefined;
  readonly subPathExpr?: string | undefined;
}

export interface VolumeMountStatus {
  readonly mountPath: string;
  readonly name: string;
  readonly readOnly?: boolean | undefined;
  readonly recursiveReadOnly?: string | undefined;
  readonly volumeStatus?: VolumeStatus | undefined;
}

export interface VolumeNodeAffinity {
  readonly required?: NodeSelector | undefined;
}

export interface VolumeNodeResources {
  readonly count?: number | undefined;
}

export interface VolumeProjection {
  readonly clusterTrustBundle?: ClusterTrustBundleProjection | undefined;
  readonly configMap?: ConfigMapProjection | undefined;
  readonly downwardAPI?: DownwardAPIProjection | undefined;
  readonly podCertificate?: PodCertificateProjection | undefined;
  readonly secret?: SecretProjection | undefined;
  readonly serviceAccountToken?: ServiceAccountTokenProjection | undefined;
}

export interface VolumeResourceRequirements {
  readonly limits?: Readonly<Record<string, Quantity>> | undefined;
  readonly requests?: Readonly<Record<string, Quantity>> | undefined;
}

export interface VolumeStatus {
  readonly image?: ImageVolumeStatus | undefined;
}

export interface VsphereVirtualDiskVolumeSource {
  readonly fsType?: string | undefined;
  readonly storagePolicyID?: string | undefined;
  readonly storagePolicyName?: string | undefined;
  readonly volumePath: string;
}

export interface WeightedPodAffinityTerm {
  readonly podAffinityTerm: PodAffinityTerm;
  readonly weight: number;
}

export interface WindowsSecurityContextOptions {
  readonly gmsaCredentialSpec?: string | undefined;
  readonly gmsaCredentialSpecName?: string | undefined;
  readonly hostProcess?: boolean | undefined;
  readonly runAsUserName?: string | undefined;
}
