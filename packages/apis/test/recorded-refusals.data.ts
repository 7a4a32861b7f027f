/** By version and resource: bodies of creates and what Kubernetes 1.36 answered: `<field> | <reason> | <message>` for each cause. */
export const recordedRefusals: readonly (readonly [string, readonly (readonly [string, readonly string[]])[]])[] = [
  [
    'admissionregistration.k8s.io/v1 mutatingadmissionpolicies',
    [
      [
        '{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["configmaps"]}]},"reinvocationPolicy":"Never"}}',
        ['spec.mutations | FieldValueRequired | Required value: mutations must contain at least one item'],
      ],
      [
        '{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["configmaps"]}]},"reinvocationPolicy":"Never","mutations":[]}}',
        ['spec.mutations | FieldValueRequired | Required value: mutations must contain at least one item'],
      ],
      [
        '{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["configmaps"]}]},"reinvocationPolicy":"Never","mutations":[{"patchType":"Nope"}]}}',
        [
          'spec.mutations[0].patchType | FieldValueNotSupported | Unsupported value: "Nope": supported values: "ApplyConfiguration", "JSONPatch"',
        ],
      ],
      [
        '{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["configmaps"]}]},"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch"}]}}',
        [
          'spec.mutations[0].jsonPatch | FieldValueRequired | Required value: must be specified when patchType is JSONPatch',
        ],
      ],
      [
        '{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["configmaps"]}]},"reinvocationPolicy":"Nope","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: \\"test\\", path: \\"/kind\\", value: \\"x\\"}]"}}]}}',
        [
          'spec.reinvocationPolicy | FieldValueNotSupported | Unsupported value: "Nope": supported values: "IfNeeded", "Never"',
        ],
      ],
      [
        '{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["configmaps"]}]},"reinvocationPolicy":null,"mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: \\"test\\", path: \\"/kind\\", value: \\"x\\"}]"}}]}}',
        ['spec.reinvocationPolicy | FieldValueRequired | Required value'],
      ],
      [
        '{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["DELETE"],"resources":["configmaps"]}]},"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: \\"test\\", path: \\"/kind\\", value: \\"x\\"}]"}}]}}',
        [
          'spec.matchConstraints.resourceRules.operations | FieldValueNotSupported | Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
        ],
      ],
      [
        '{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["configmaps"]}]},"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"[JSONPatch{op: \\"test\\", path: \\"/kind\\", value: \\"x\\"}]"},"applyConfiguration":{"expression":"Object{}"}}]}}',
        [
          'spec.mutations[0].applyConfiguration | FieldValueInvalid | Invalid value: "{applyConfiguration}": must not be specified when patchType is JSONPatch',
        ],
      ],
    ],
  ],
  [
    'admissionregistration.k8s.io/v1 validatingadmissionpolicies',
    [
      [
        '{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["configmaps"]}]}}}',
        [
          'spec.validations | FieldValueRequired | Required value: validations or auditAnnotations must contain at least one item',
          'spec.auditAnnotations | FieldValueRequired | Required value: validations or auditAnnotations must contain at least one item',
        ],
      ],
      [
        '{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["configmaps"]}]},"validations":[{"expression":"true","reason":"Nope"}]}}',
        [
          'spec.validations[0].reason | FieldValueNotSupported | Unsupported value: "Nope": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
        ],
      ],
      [
        '{"metadata":{"name":"p"},"spec":{"matchConstraints":null,"validations":[{"expression":"true"}]}}',
        ['spec.matchConstraints | FieldValueRequired | Required value'],
      ],
      [
        '{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":["*","x"],"apiVersions":[],"operations":["CREATE"],"resources":["*","x"]}]},"validations":[{"expression":"true"}]}}',
        [
          'spec.matchConstraints.resourceRules[0].apiGroups | FieldValueInvalid | Invalid value: ["*","x"]: if \'*\' is present, must not specify other API groups',
          'spec.matchConstraints.resourceRules[0].apiVersions | FieldValueRequired | Required value',
          'spec.matchConstraints.resourceRules[0].resources | FieldValueInvalid | Invalid value: ["*","x"]: if \'*\' is present, must not specify other resources without subresources',
        ],
      ],
      [
        '{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["configmaps"]}]},"validations":[]}}',
        [
          'spec.validations | FieldValueRequired | Required value: validations or auditAnnotations must contain at least one item',
          'spec.auditAnnotations | FieldValueRequired | Required value: validations or auditAnnotations must contain at least one item',
        ],
      ],
      [
        '{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["configmaps"]}]},"validations":[{"expression":"true","message":"a\\nb"}]}}',
        ['spec.validations[0].message | FieldValueInvalid | Invalid value: "a\\nb": must not contain line breaks'],
      ],
      [
        '{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[]},"validations":[{"expression":"true"}]}}',
        ['spec.matchConstraints.resourceRules | FieldValueRequired | Required value'],
      ],
      [
        '{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["configmaps"]}]},"failurePolicy":"Nope","validations":[{"expression":"true"}]}}',
        ['spec.failurePolicy | FieldValueNotSupported | Unsupported value: "Nope": supported values: "Fail", "Ignore"'],
      ],
      [
        '{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["configmaps"]}]},"paramKind":{"apiVersion":"","kind":""},"validations":[{"expression":"true"}]}}',
        [
          'spec.paramKind.apiVersion | FieldValueRequired | Required value',
          'spec.paramKind.kind | FieldValueRequired | Required value',
        ],
      ],
    ],
  ],
  [
    'admissionregistration.k8s.io/v1 validatingadmissionpolicybindings',
    [
      [
        '{"metadata":{"name":"b"},"spec":{"policyName":"","validationActions":["Deny"],"matchResources":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"ns"}}}}}',
        ['spec.policyName | FieldValueRequired | Required value'],
      ],
      [
        '{"metadata":{"name":"b"},"spec":{"policyName":"Bad Name","validationActions":["Deny"],"matchResources":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"ns"}}}}}',
        ['spec.policyName | FieldValueInvalid | Invalid value: "Bad Name": <subdomain>'],
      ],
      [
        '{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":[],"matchResources":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"ns"}}}}}',
        ['spec.validationActions | FieldValueRequired | Required value: at least one validation action is required'],
      ],
      [
        '{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Nope"],"matchResources":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"ns"}}}}}',
        [
          'spec.validationActions[0] | FieldValueNotSupported | Unsupported value: "Nope": supported values: "Audit", "Deny", "Warn"',
        ],
      ],
      [
        '{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny","Warn"],"matchResources":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"ns"}}}}}',
        [
          'spec.validationActions | FieldValueInvalid | Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
        ],
      ],
      [
        '{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny","Deny"],"matchResources":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"ns"}}}}}',
        ['spec.validationActions[1] | FieldValueDuplicate | Duplicate value: "Deny"'],
      ],
      [
        '{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"],"matchResources":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"ns"}}},"paramRef":{}}}',
        [
          'spec.paramRef | FieldValueRequired | Required value: one of name or selector must be specified',
          'spec.paramRef.parameterNotFoundAction | FieldValueRequired | Required value',
        ],
      ],
      [
        '{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"],"matchResources":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"ns"}}},"paramRef":{"name":"x","selector":{}}}}',
        [
          'spec.paramRef.name | FieldValueForbidden | Forbidden: name and selector are mutually exclusive',
          'spec.paramRef.selector | FieldValueForbidden | Forbidden: name and selector are mutually exclusive',
          'spec.paramRef.parameterNotFoundAction | FieldValueRequired | Required value',
        ],
      ],
      [
        '{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"],"matchResources":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"ns"}}},"paramRef":{"name":"x"}}}',
        ['spec.paramRef.parameterNotFoundAction | FieldValueRequired | Required value'],
      ],
      [
        '{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"],"matchResources":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"ns"}}},"paramRef":{"name":"x","parameterNotFoundAction":"Nope"}}}',
        [
          'spec.paramRef.parameterNotFoundAction | FieldValueNotSupported | Unsupported value: "Nope": supported values: "Deny", "Allow"',
        ],
      ],
      [
        '{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"],"matchResources":{"namespaceSelector":{"matchLabels":{"a b":"c"}}}}}',
        ['spec.matchResources.namespaceSelector.matchLabels | FieldValueInvalid | Invalid value: "a b": <qualified>'],
      ],
      [
        '{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"],"matchResources":{"matchPolicy":"Nope"}}}',
        [
          'spec.matchResources.matchPolicy | FieldValueNotSupported | Unsupported value: "Nope": supported values: "Equivalent", "Exact"',
        ],
      ],
    ],
  ],
  [
    'admissionregistration.k8s.io/v1 validatingwebhookconfigurations',
    [
      [
        '{"metadata":{"name":"w"},"webhooks":[{"name":"a.hooks.example.com","clientConfig":{"url":"https://hooks.example.com/x"},"sideEffects":"Some","admissionReviewVersions":["v1"],"rules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["nones"]}]}]}',
        [
          'webhooks[0].sideEffects | FieldValueNotSupported | Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
        ],
      ],
      [
        '{"metadata":{"name":"w"},"webhooks":[{"name":"a.hooks.example.com","clientConfig":{"url":"https://hooks.example.com/x"},"sideEffects":"None","admissionReviewVersions":["v9"],"rules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["nones"]}]}]}',
        [
          'webhooks[0].admissionReviewVersions | FieldValueInvalid | Invalid value: ["v9"]: must include at least one of v1, v1beta1',
        ],
      ],
      [
        '{"metadata":{"name":"w"},"webhooks":[{"name":"a.hooks.example.com","clientConfig":{"url":"https://hooks.example.com/x"},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["nones"]}],"timeoutSeconds":31}]}',
        [
          'webhooks[0].timeoutSeconds | FieldValueInvalid | Invalid value: 31: the timeout value must be between 1 and 30 seconds',
        ],
      ],
      [
        '{"metadata":{"name":"w"},"webhooks":[{"name":"a.hooks.example.com","clientConfig":{"url":"https://u:p@x.y/z"},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["nones"]}]}]}',
        [
          'webhooks[0].clientConfig.url | FieldValueInvalid | Invalid value: "u:p": user information is not permitted in the URL',
        ],
      ],
      [
        '{"metadata":{"name":"w"},"webhooks":[{"name":"a.hooks.example.com","clientConfig":{"service":{"name":"","namespace":""}},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["nones"]}]}]}',
        [
          'webhooks[0].clientConfig.service.name | FieldValueRequired | Required value',
          'webhooks[0].clientConfig.service.namespace | FieldValueRequired | Required value',
        ],
      ],
      [
        '{"metadata":{"name":"w"},"webhooks":[{"name":"a.hooks.example.com","clientConfig":{"url":"https://hooks.example.com/x"},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[{"apiGroups":["*","a"],"apiVersions":["*","v1"],"operations":["*","CREATE"],"resources":["*","x"]}]}]}',
        [
          'webhooks[0].rules[0].operations | FieldValueInvalid | Invalid value: ["*","CREATE"]: if \'*\' is present, must not specify other operations',
          'webhooks[0].rules[0].apiGroups | FieldValueInvalid | Invalid value: ["*","a"]: if \'*\' is present, must not specify other API groups',
          'webhooks[0].rules[0].apiVersions | FieldValueInvalid | Invalid value: ["*","v1"]: if \'*\' is present, must not specify other API versions',
          'webhooks[0].rules[0].resources | FieldValueInvalid | Invalid value: ["*","x"]: if \'*\' is present, must not specify other resources without subresources',
        ],
      ],
      [
        '{"metadata":{"name":"w"},"webhooks":[{"name":"a.hooks.example.com","clientConfig":{"url":"https://hooks.example.com/x"},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":["a/*","a/b","*/b","c/b"]}]}]}',
        [
          'webhooks[0].rules[0].resources[1] | FieldValueInvalid | Invalid value: "a/b": if \'a/*\' is present, must not specify a/b',
          'webhooks[0].rules[0].resources[3] | FieldValueInvalid | Invalid value: "c/b": if \'*/b\' is present, must not specify c/b',
        ],
      ],
      [
        '{"metadata":{"name":"w"},"webhooks":[{"name":"short","clientConfig":{"url":"https://hooks.example.com/x"},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["nones"]}]}]}',
        [
          'webhooks[0].name | FieldValueInvalid | Invalid value: "short": should be a domain with at least three segments separated by dots',
        ],
      ],
      [
        '{"metadata":{"name":"w"},"webhooks":[{"name":"a.hooks.example.com","clientConfig":{"url":"https://hooks.example.com/x"},"admissionReviewVersions":["v1"],"rules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["nones"]}]}]}',
        ['webhooks[0].sideEffects | FieldValueRequired | Required value: must specify one of None, NoneOnDryRun'],
      ],
      [
        '{"metadata":{"name":"w"},"webhooks":[{"name":"a.hooks.example.com","clientConfig":{"url":"https://hooks.example.com/x"},"sideEffects":"None","admissionReviewVersions":["v1","v1"],"rules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["nones"]}]}]}',
        ['webhooks[0].admissionReviewVersions[1] | FieldValueInvalid | Invalid value: "v1": duplicate version'],
      ],
      [
        '{"metadata":{"name":"w"},"webhooks":[{"name":"a.hooks.example.com","clientConfig":{},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["nones"]}]}]}',
        ['webhooks[0].clientConfig | FieldValueRequired | Required value: exactly one of url or service is required'],
      ],
      [
        '{"metadata":{"name":"w"},"webhooks":[{"name":"a.hooks.example.com","clientConfig":{"url":"https://x.y/z?a=b#c"},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["nones"]}]}]}',
        [
          'webhooks[0].clientConfig.url | FieldValueInvalid | Invalid value: "c": fragments are not permitted in the URL',
          'webhooks[0].clientConfig.url | FieldValueInvalid | Invalid value: "a=b": query parameters are not permitted in the URL',
        ],
      ],
      [
        '{"metadata":{"name":"w"},"webhooks":[{"name":"a.hooks.example.com","clientConfig":{"service":{"name":"s","namespace":"n","port":0,"path":"x"}},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["nones"]}]}]}',
        [
          'webhooks[0].clientConfig.service.port | FieldValueInvalid | Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive',
          'webhooks[0].clientConfig.service.path | FieldValueInvalid | Invalid value: "x": must start with a \'/\'',
          'webhooks[0].clientConfig.service.path | FieldValueInvalid | Invalid value: "x": segment[0] may not be empty',
        ],
      ],
      [
        '{"metadata":{"name":"w"},"webhooks":[{"name":"a.hooks.example.com","clientConfig":{"url":"https://hooks.example.com/x"},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[{"apiGroups":["none.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["nones"]}],"failurePolicy":"Nope"}]}',
        [
          'webhooks[0].failurePolicy | FieldValueNotSupported | Unsupported value: "Nope": supported values: "Fail", "Ignore"',
        ],
      ],
      [
        '{"metadata":{"name":"w"},"webhooks":[{"name":"a.hooks.example.com","clientConfig":{"url":"https://hooks.example.com/x"},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[{"apiGroups":[],"apiVersions":[""],"operations":[],"resources":[""]}]}]}',
        [
          'webhooks[0].rules[0].operations | FieldValueRequired | Required value',
          'webhooks[0].rules[0].apiGroups | FieldValueRequired | Required value',
          'webhooks[0].rules[0].apiVersions[0] | FieldValueRequired | Required value',
          'webhooks[0].rules[0].resources[0] | FieldValueRequired | Required value',
        ],
      ],
    ],
  ],
  [
    'certificates.k8s.io/v1 certificatesigningrequests',
    [
      [
        '{"metadata":{"name":"c"},"spec":{"request":"","signerName":"example.com/mine","usages":["client auth"]}}',
        ['spec.request | FieldValueInvalid | Invalid value: "": PEM block type must be CERTIFICATE REQUEST'],
      ],
      [
        '{"metadata":{"name":"c"},"spec":{"request":"eA==","signerName":"example.com/mine","usages":["client auth"]}}',
        ['spec.request | FieldValueInvalid | Invalid value: "eA==": PEM block type must be CERTIFICATE REQUEST'],
      ],
      [
        '{"metadata":{"name":"c"},"spec":{"request":"<request>","signerName":"","usages":["client auth"]}}',
        ['spec.signerName | FieldValueRequired | Required value'],
      ],
      [
        '{"metadata":{"name":"c"},"spec":{"request":"<request>","usages":["client auth"]}}',
        ['spec.signerName | FieldValueRequired | Required value'],
      ],
      [
        '{"metadata":{"name":"c"},"spec":{"request":"<request>","signerName":"plain","usages":["client auth"]}}',
        [
          'spec.signerName | FieldValueInvalid | Invalid value: "plain": must be a fully qualified domain and path of the form \'example.com/signer-name\'',
        ],
      ],
      [
        '{"metadata":{"name":"c"},"spec":{"request":"<request>","signerName":"kubernetes.io/legacy-unknown","usages":["client auth"]}}',
        [
          'spec.signerName | FieldValueInvalid | Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
        ],
      ],
      [
        '{"metadata":{"name":"c"},"spec":{"request":"<request>","signerName":"Example.com/x","usages":["client auth"]}}',
        ['spec.signerName | FieldValueInvalid | Invalid value: "Example.com": validating label "Example": <label>'],
      ],
      [
        '{"metadata":{"name":"c"},"spec":{"request":"<request>","signerName":"example.com/a b","usages":["client auth"]}}',
        ['spec.signerName | FieldValueInvalid | Invalid value: "a b": validating label "a b": <subdomain>'],
      ],
      [
        '{"metadata":{"name":"c"},"spec":{"request":"<request>","signerName":"example.com/mine","usages":[]}}',
        ['spec.usages | FieldValueRequired | Required value'],
      ],
      [
        '{"metadata":{"name":"c"},"spec":{"request":"<request>","signerName":"example.com/mine","usages":["nope"]}}',
        [
          'spec.usages[0] | FieldValueNotSupported | Unsupported value: "nope": supported values: "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping"',
        ],
      ],
      [
        '{"metadata":{"name":"c"},"spec":{"request":"<request>","signerName":"example.com/mine","usages":["client auth","client auth"]}}',
        ['spec.usages[1] | FieldValueDuplicate | Duplicate value: "client auth"'],
      ],
      [
        '{"metadata":{"name":"c"},"spec":{"request":"<request>","signerName":"example.com/mine","usages":["client auth"],"expirationSeconds":599}}',
        [
          'spec.expirationSeconds | FieldValueInvalid | Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)',
        ],
      ],
    ],
  ],
  [
    'coordination.k8s.io/v1 leases',
    [
      [
        '{"metadata":{"name":"a"},"spec":{"leaseDurationSeconds":0}}',
        ['spec.leaseDurationSeconds | FieldValueInvalid | Invalid value: 0: must be greater than 0'],
      ],
      [
        '{"metadata":{"name":"a"},"spec":{"leaseTransitions":-1}}',
        ['spec.leaseTransitions | FieldValueInvalid | Invalid value: -1: must be greater than or equal to 0'],
      ],
    ],
  ],
  [
    'flowcontrol.apiserver.k8s.io/v1 flowschemas',
    [
      [
        '{"metadata":{"name":"f"},"spec":{"priorityLevelConfiguration":{"name":"exempt"},"matchingPrecedence":10001}}',
        ['spec.matchingPrecedence | FieldValueInvalid | Invalid value: 10001: must not be greater than 10000'],
      ],
      [
        '{"metadata":{"name":"f"},"spec":{"priorityLevelConfiguration":{"name":"exempt"},"matchingPrecedence":1}}',
        [
          "spec.matchingPrecedence | FieldValueInvalid | Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
        ],
      ],
      [
        '{"metadata":{"name":"f"},"spec":{"priorityLevelConfiguration":{"name":"exempt"},"distinguisherMethod":{"type":"Nope"}}}',
        [
          'spec.distinguisherMethod.type | FieldValueNotSupported | Unsupported value: {"Type":"Nope"}: supported values: "ByNamespace", "ByUser"',
        ],
      ],
      [
        '{"metadata":{"name":"f"},"spec":{"priorityLevelConfiguration":{"name":""}}}',
        ['spec.priorityLevelConfiguration.name | FieldValueRequired | Required value: must reference a priority level'],
      ],
      [
        '{"metadata":{"name":"f"},"spec":{"priorityLevelConfiguration":{"name":"exempt"},"rules":[{"subjects":[]}]}}',
        [
          'spec.rules[0].subjects | FieldValueRequired | Required value: subjects must contain at least one value',
          'spec.rules[0] | FieldValueRequired | Required value: at least one of resourceRules and nonResourceRules has to be non-empty',
        ],
      ],
      [
        '{"metadata":{"name":"f"},"spec":{"priorityLevelConfiguration":{"name":"exempt"},"rules":[{"subjects":[{"kind":"Nope"}],"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]}]}}',
        [
          'spec.rules[0].subjects[0].kind | FieldValueNotSupported | Unsupported value: "Nope": supported values: "Group", "ServiceAccount", "User"',
          'spec.rules[0].resourceRules[0].namespaces | FieldValueRequired | Required value: resource rules that are not cluster scoped must supply at least one namespace',
        ],
      ],
      [
        '{"metadata":{"name":"f"},"spec":{"priorityLevelConfiguration":{"name":"exempt"},"rules":[{"subjects":[{"kind":"User","user":{"name":""}}],"nonResourceRules":[{"verbs":["nope"],"nonResourceURLs":["x","/a*"]}]}]}}',
        [
          'spec.rules[0].subjects[0].user.name | FieldValueRequired | Required value',
          'spec.rules[0].nonResourceRules[0].verbs | FieldValueNotSupported | Unsupported value: ["nope"]: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"',
          'spec.rules[0].nonResourceRules[0].nonResourceURLs[0] | FieldValueInvalid | Invalid value: "x": must start with slash',
          'spec.rules[0].nonResourceRules[0].nonResourceURLs[1] | FieldValueInvalid | Invalid value: "/a*": wildcard can only do suffix matching',
        ],
      ],
    ],
  ],
  [
    'rbac.authorization.k8s.io/v1 clusterroles',
    [
      [
        '{"metadata":{"name":"r"},"rules":[{"verbs":[]}]}',
        [
          'rules[0].verbs | FieldValueRequired | Required value: verbs must contain at least one value',
          'rules[0].apiGroups | FieldValueRequired | Required value: resource rules must supply at least one api group',
          'rules[0].resources | FieldValueRequired | Required value: resource rules must supply at least one resource',
        ],
      ],
      [
        '{"metadata":{"name":"r"},"rules":[{"verbs":["get"]}]}',
        [
          'rules[0].apiGroups | FieldValueRequired | Required value: resource rules must supply at least one api group',
          'rules[0].resources | FieldValueRequired | Required value: resource rules must supply at least one resource',
        ],
      ],
      [
        '{"metadata":{"name":"r"},"rules":[{"verbs":["get"],"apiGroups":[""]}]}',
        ['rules[0].resources | FieldValueRequired | Required value: resource rules must supply at least one resource'],
      ],
      [
        '{"metadata":{"name":"r"},"rules":[{"verbs":["get"],"resources":["x"]}]}',
        ['rules[0].apiGroups | FieldValueRequired | Required value: resource rules must supply at least one api group'],
      ],
      [
        '{"metadata":{"name":"r"},"rules":[{"verbs":["get"],"nonResourceURLs":["/x"],"apiGroups":[""],"resources":["x"]}]}',
        [
          'rules[0].nonResourceURLs | FieldValueInvalid | Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
        ],
      ],
    ],
  ],
  [
    'rbac.authorization.k8s.io/v1 rolebindings',
    [
      [
        '{"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":""},"subjects":[]}',
        ['roleRef.name | FieldValueRequired | Required value'],
      ],
      [
        '{"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Nope","name":"x"},"subjects":[]}',
        ['roleRef.kind | FieldValueNotSupported | Unsupported value: "Nope": supported values: "Role", "ClusterRole"'],
      ],
      [
        '{"metadata":{"name":"b"},"roleRef":{"apiGroup":"other","kind":"ClusterRole","name":"x"},"subjects":[]}',
        [
          'roleRef.apiGroup | FieldValueNotSupported | Unsupported value: "other": supported values: "rbac.authorization.k8s.io"',
        ],
      ],
      [
        '{"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"x"},"subjects":[{"kind":"User","name":""}]}',
        ['subjects[0].name | FieldValueRequired | Required value'],
      ],
      [
        '{"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"x"},"subjects":[{"kind":"Nope","name":"x"}]}',
        [
          'subjects[0].kind | FieldValueNotSupported | Unsupported value: "Nope": supported values: "ServiceAccount", "User", "Group"',
        ],
      ],
      [
        '{"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"x"},"subjects":[{"kind":"ServiceAccount","name":"Bad_","namespace":"n"}]}',
        ['subjects[0].name | FieldValueInvalid | Invalid value: "Bad_": <subdomain>'],
      ],
      [
        '{"metadata":{"name":"b"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"x"},"subjects":[{"kind":"User","name":"x","apiGroup":"nope"}]}',
        [
          'subjects[0].apiGroup | FieldValueNotSupported | Unsupported value: "nope": supported values: "rbac.authorization.k8s.io"',
        ],
      ],
    ],
  ],
  [
    'rbac.authorization.k8s.io/v1 roles',
    [
      [
        '{"metadata":{"name":"r"},"rules":[{"verbs":[]}]}',
        [
          'rules[0].verbs | FieldValueRequired | Required value: verbs must contain at least one value',
          'rules[0].apiGroups | FieldValueRequired | Required value: resource rules must supply at least one api group',
          'rules[0].resources | FieldValueRequired | Required value: resource rules must supply at least one resource',
        ],
      ],
      [
        '{"metadata":{"name":"r"},"rules":[{"verbs":["get"]}]}',
        [
          'rules[0].apiGroups | FieldValueRequired | Required value: resource rules must supply at least one api group',
          'rules[0].resources | FieldValueRequired | Required value: resource rules must supply at least one resource',
        ],
      ],
      [
        '{"metadata":{"name":"r"},"rules":[{"verbs":["get"],"apiGroups":[""]}]}',
        ['rules[0].resources | FieldValueRequired | Required value: resource rules must supply at least one resource'],
      ],
      [
        '{"metadata":{"name":"r"},"rules":[{"verbs":["get"],"resources":["x"]}]}',
        ['rules[0].apiGroups | FieldValueRequired | Required value: resource rules must supply at least one api group'],
      ],
      [
        '{"metadata":{"name":"r"},"rules":[{"verbs":["get"],"nonResourceURLs":["/x"]}]}',
        [
          'rules[0].nonResourceURLs | FieldValueInvalid | Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
        ],
      ],
      [
        '{"metadata":{"name":"r"},"rules":[{"verbs":["get"],"nonResourceURLs":["/x"],"apiGroups":[""],"resources":["x"]}]}',
        [
          'rules[0].nonResourceURLs | FieldValueInvalid | Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
          'rules[0].nonResourceURLs | FieldValueInvalid | Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
        ],
      ],
    ],
  ],
  [
    'v1 configmaps',
    [
      [
        '{"metadata":{"name":"a"},"data":{"a b":"x"}}',
        [
          "data[a b] | FieldValueInvalid | Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
        ],
      ],
      [
        '{"metadata":{"name":"a"},"data":{"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk":"x"}}',
        [
          'data[kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk] | FieldValueInvalid | Invalid value: "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk": must be no more than 253 characters',
        ],
      ],
      [
        '{"metadata":{"name":"a"},"data":{"k":"x"},"binaryData":{"k":"eA=="}}',
        ['data[k] | FieldValueInvalid | Invalid value: "k": duplicate of key present in binaryData'],
      ],
    ],
  ],
  [
    'v1 events',
    [
      [
        '{"metadata":{"name":"f"},"involvedObject":{"namespace":"other"}}',
        ['involvedObject.namespace | FieldValueInvalid | Invalid value: "other": does not match event.namespace'],
      ],
      [
        '{"metadata":{"name":"g"},"involvedObject":{}}',
        ['involvedObject.namespace | FieldValueInvalid | Invalid value: "": does not match event.namespace'],
      ],
      [
        '{"metadata":{"name":"h"},"involvedObject":{"namespace":"ns"},"eventTime":"2026-01-01T00:00:00.000000Z"}',
        [
          'reportingComponent | FieldValueRequired | Required value',
          'reportingComponent | FieldValueInvalid | Invalid value: "": name part must be non-empty',
          'reportingComponent | FieldValueInvalid | Invalid value: "": <qualified>',
          'reportingInstance | FieldValueRequired | Required value',
          'action | FieldValueRequired | Required value',
          'reason | FieldValueRequired | Required value',
        ],
      ],
      [
        '{"metadata":{"name":"i"},"involvedObject":{"namespace":"ns"},"eventTime":"2026-01-01T00:00:00.000000Z","reportingComponent":"bad name","reportingInstance":"x","action":"A","reason":"R"}',
        ['reportingComponent | FieldValueInvalid | Invalid value: "bad name": <qualified>'],
      ],
    ],
  ],
  [
    'v1 limitranges',
    [
      [
        '{"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","max":{"cpu":"1"},"min":{"cpu":"2"}}]}}',
        [
          'spec.limits[0].min[cpu] | FieldValueInvalid | Invalid value: "2": min value 2 is greater than max value 1',
          'spec.limits[0].defaultRequest[cpu] | FieldValueInvalid | Invalid value: "1": min value 2 is greater than default request value 1',
          'spec.limits[0].default[cpu] | FieldValueInvalid | Invalid value: "2": min value 2 is greater than default value 1',
        ],
      ],
      [
        '{"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","max":{"cpu":"1"},"default":{"cpu":"2"}}]}}',
        [
          'spec.limits[0].defaultRequest[cpu] | FieldValueInvalid | Invalid value: "2": default request value 2 is greater than max value 1',
          'spec.limits[0].default[cpu] | FieldValueInvalid | Invalid value: "1": default value 2 is greater than max value 1',
        ],
      ],
      [
        '{"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","min":{"cpu":"1"},"defaultRequest":{"cpu":"500m"}}]}}',
        [
          'spec.limits[0].defaultRequest[cpu] | FieldValueInvalid | Invalid value: "500m": min value 1 is greater than default request value 500m',
        ],
      ],
      [
        '{"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","default":{"cpu":"1"},"defaultRequest":{"cpu":"2"}}]}}',
        [
          'spec.limits[0].defaultRequest[cpu] | FieldValueInvalid | Invalid value: "2": default request value 2 is greater than default limit value 1',
        ],
      ],
      [
        '{"metadata":{"name":"l"},"spec":{"limits":[{"type":"Pod","default":{"cpu":"1"}}]}}',
        ["spec.limits[0].default | FieldValueForbidden | Forbidden: may not be specified when `type` is 'Pod'"],
      ],
      [
        '{"metadata":{"name":"l"},"spec":{"limits":[{"type":"Pod","defaultRequest":{"cpu":"1"}}]}}',
        ["spec.limits[0].defaultRequest | FieldValueForbidden | Forbidden: may not be specified when `type` is 'Pod'"],
      ],
      [
        '{"metadata":{"name":"l"},"spec":{"limits":[{"type":"Pod","max":{"cpu":"1"}},{"type":"Pod","max":{"cpu":"2"}}]}}',
        ['spec.limits[1].type | FieldValueDuplicate | Duplicate value: "Pod"'],
      ],
      [
        '{"metadata":{"name":"l"},"spec":{"limits":[{"type":""}]}}',
        [
          'spec.limits[0].type | FieldValueInvalid | Invalid value: "": name part must be non-empty',
          'spec.limits[0].type | FieldValueInvalid | Invalid value: "": <qualified>',
        ],
      ],
      [
        '{"metadata":{"name":"l"},"spec":{"limits":[{"type":"bad type"}]}}',
        ['spec.limits[0].type | FieldValueInvalid | Invalid value: "bad type": <qualified>'],
      ],
      [
        '{"metadata":{"name":"l"},"spec":{"limits":[{"type":"PersistentVolumeClaim"}]}}',
        [
          'spec.limits[0].limits | FieldValueRequired | Required value: either minimum or maximum storage value is required, but neither was provided',
        ],
      ],
      [
        '{"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","maxLimitRequestRatio":{"cpu":"0.5"}}]}}',
        [
          'spec.limits[0].maxLimitRequestRatio[cpu] | FieldValueInvalid | Invalid value: "500m": ratio 500m is less than 1',
        ],
      ],
      [
        '{"metadata":{"name":"l"},"spec":{"limits":[{"type":"Container","max":{"cpu":"1"},"min":{"cpu":"500m"},"maxLimitRequestRatio":{"cpu":"5"}}]}}',
        [
          'spec.limits[0].maxLimitRequestRatio[cpu] | FieldValueInvalid | Invalid value: "5": ratio 5 is greater than max/min = 2.000000',
        ],
      ],
    ],
  ],
  [
    'v1 resourcequotas',
    [
      [
        '{"metadata":{"name":"q"},"spec":{"hard":{"nope":"1"}}}',
        [
          'spec.hard[nope] | FieldValueInvalid | Invalid value: "nope": must be a standard resource type or fully qualified',
          'spec.hard[nope] | FieldValueInvalid | Invalid value: "nope": must be a standard resource for quota',
        ],
      ],
      [
        '{"metadata":{"name":"q"},"spec":{"hard":{"count/":"1"}}}',
        [
          'spec.hard[count/] | FieldValueInvalid | Invalid value: "count/": name part must be non-empty',
          'spec.hard[count/] | FieldValueInvalid | Invalid value: "count/": <qualified>',
        ],
      ],
      [
        '{"metadata":{"name":"q"},"spec":{"hard":{"secrets":"-1"}}}',
        ['spec.hard[secrets] | FieldValueInvalid | Invalid value: "-1": must be greater than or equal to 0'],
      ],
      [
        '{"metadata":{"name":"q"},"spec":{"hard":{"secrets":"1.5"}}}',
        ['spec.hard[secrets] | FieldValueInvalid | Invalid value: "1500m": must be an integer'],
      ],
      [
        '{"metadata":{"name":"q"},"spec":{"hard":{"secrets":"1"},"scopes":["Nope"]}}',
        ['spec.scopes | FieldValueInvalid | Invalid value: ["Nope"]: unsupported scope'],
      ],
      [
        '{"metadata":{"name":"q"},"spec":{"hard":{"secrets":"1"},"scopes":["BestEffort"]}}',
        ['spec.scopes | FieldValueInvalid | Invalid value: ["BestEffort"]: unsupported scope applied to resource'],
      ],
      [
        '{"metadata":{"name":"q"},"spec":{"hard":{"pods":"1"},"scopes":["BestEffort","NotBestEffort"]}}',
        ['spec.scopes | FieldValueInvalid | Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes'],
      ],
    ],
  ],
  [
    'v1 secrets',
    [
      [
        '{"metadata":{"name":"s"},"stringData":{"x":"y"},"type":"kubernetes.io/dockercfg"}',
        ['data[.dockercfg] | FieldValueRequired | Required value'],
      ],
      [
        '{"metadata":{"name":"s"},"type":"kubernetes.io/dockercfg"}',
        ['data[.dockercfg] | FieldValueRequired | Required value'],
      ],
      [
        '{"metadata":{"name":"s"},"stringData":{"x":"y"},"type":"kubernetes.io/ssh-auth"}',
        ['data[ssh-privatekey] | FieldValueRequired | Required value'],
      ],
      [
        '{"metadata":{"name":"s"},"type":"kubernetes.io/ssh-auth"}',
        ['data[ssh-privatekey] | FieldValueRequired | Required value'],
      ],
      [
        '{"metadata":{"name":"a"},"stringData":{"x":"y"},"type":"kubernetes.io/basic-auth"}',
        [
          'data[username] | FieldValueRequired | Required value',
          'data[password] | FieldValueRequired | Required value',
        ],
      ],
      [
        '{"metadata":{"name":"c"},"stringData":{"tls.crt":"x"},"type":"kubernetes.io/tls"}',
        ['data[tls.key] | FieldValueRequired | Required value'],
      ],
      [
        '{"metadata":{"name":"c"},"stringData":{"tls.key":"x"},"type":"kubernetes.io/tls"}',
        ['data[tls.crt] | FieldValueRequired | Required value'],
      ],
      [
        '{"metadata":{"name":"d"},"stringData":{},"type":"kubernetes.io/service-account-token"}',
        ['metadata.annotations[kubernetes.io/service-account.name] | FieldValueRequired | Required value'],
      ],
      [
        '{"metadata":{"name":"d","annotations":{"kubernetes.io/service-account.name":""}},"stringData":{},"type":"kubernetes.io/service-account-token"}',
        ['metadata.annotations[kubernetes.io/service-account.name] | FieldValueRequired | Required value'],
      ],
    ],
  ],
];
