--- TLS: records and handshake messages of SSL 3.0 to TLS 1.3 (RFC 6101, 2246, 4346, 5246, 8446), with the extensions of
-- RFC 6066, 7301, 7627, 8422, 8449, 8879 and others. A packet alone doesn't tell whether a handshake record is
-- encrypted; what can't be a message is taken for encrypted.

local versions = {
    [0x0300] = "SSL 3.0", [0x0301] = "TLS 1.0", [0x0302] = "TLS 1.1", [0x0303] = "TLS 1.2", [0x0304] = "TLS 1.3",
}
for draft = 14, 28 do
    versions[0x7f00 + draft] = ("TLS 1.3 (draft %d)"):format(draft)
end

-- The IANA registry "TLS Cipher Suites": first number, and the names without "TLS_".
local suite_runs = {
    { 0x0000, "NULL_WITH_NULL_NULL RSA_WITH_NULL_MD5 RSA_WITH_NULL_SHA RSA_EXPORT_WITH_RC4_40_MD5 "
        .. "RSA_WITH_RC4_128_MD5 RSA_WITH_RC4_128_SHA RSA_EXPORT_WITH_RC2_CBC_40_MD5 RSA_WITH_IDEA_CBC_SHA "
        .. "RSA_EXPORT_WITH_DES40_CBC_SHA RSA_WITH_DES_CBC_SHA RSA_WITH_3DES_EDE_CBC_SHA "
        .. "DH_DSS_EXPORT_WITH_DES40_CBC_SHA DH_DSS_WITH_DES_CBC_SHA DH_DSS_WITH_3DES_EDE_CBC_SHA "
        .. "DH_RSA_EXPORT_WITH_DES40_CBC_SHA DH_RSA_WITH_DES_CBC_SHA DH_RSA_WITH_3DES_EDE_CBC_SHA "
        .. "DHE_DSS_EXPORT_WITH_DES40_CBC_SHA DHE_DSS_WITH_DES_CBC_SHA DHE_DSS_WITH_3DES_EDE_CBC_SHA "
        .. "DHE_RSA_EXPORT_WITH_DES40_CBC_SHA DHE_RSA_WITH_DES_CBC_SHA DHE_RSA_WITH_3DES_EDE_CBC_SHA "
        .. "DH_anon_EXPORT_WITH_RC4_40_MD5 DH_anon_WITH_RC4_128_MD5 DH_anon_EXPORT_WITH_DES40_CBC_SHA "
        .. "DH_anon_WITH_DES_CBC_SHA DH_anon_WITH_3DES_EDE_CBC_SHA" },
    { 0x001e, "KRB5_WITH_DES_CBC_SHA KRB5_WITH_3DES_EDE_CBC_SHA KRB5_WITH_RC4_128_SHA KRB5_WITH_IDEA_CBC_SHA "
        .. "KRB5_WITH_DES_CBC_MD5 KRB5_WITH_3DES_EDE_CBC_MD5 KRB5_WITH_RC4_128_MD5 KRB5_WITH_IDEA_CBC_MD5 "
        .. "KRB5_EXPORT_WITH_DES_CBC_40_SHA KRB5_EXPORT_WITH_RC2_CBC_40_SHA KRB5_EXPORT_WITH_RC4_40_SHA "
        .. "KRB5_EXPORT_WITH_DES_CBC_40_MD5 KRB5_EXPORT_WITH_RC2_CBC_40_MD5 KRB5_EXPORT_WITH_RC4_40_MD5 "
        .. "PSK_WITH_NULL_SHA DHE_PSK_WITH_NULL_SHA RSA_PSK_WITH_NULL_SHA RSA_WITH_AES_128_CBC_SHA "
        .. "DH_DSS_WITH_AES_128_CBC_SHA DH_RSA_WITH_AES_128_CBC_SHA DHE_DSS_WITH_AES_128_CBC_SHA "
        .. "DHE_RSA_WITH_AES_128_CBC_SHA DH_anon_WITH_AES_128_CBC_SHA RSA_WITH_AES_256_CBC_SHA "
        .. "DH_DSS_WITH_AES_256_CBC_SHA DH_RSA_WITH_AES_256_CBC_SHA DHE_DSS_WITH_AES_256_CBC_SHA "
        .. "DHE_RSA_WITH_AES_256_CBC_SHA DH_anon_WITH_AES_256_CBC_SHA RSA_WITH_NULL_SHA256 "
        .. "RSA_WITH_AES_128_CBC_SHA256 RSA_WITH_AES_256_CBC_SHA256 DH_DSS_WITH_AES_128_CBC_SHA256 "
        .. "DH_RSA_WITH_AES_128_CBC_SHA256 DHE_DSS_WITH_AES_128_CBC_SHA256 RSA_WITH_CAMELLIA_128_CBC_SHA "
        .. "DH_DSS_WITH_CAMELLIA_128_CBC_SHA DH_RSA_WITH_CAMELLIA_128_CBC_SHA DHE_DSS_WITH_CAMELLIA_128_CBC_SHA "
        .. "DHE_RSA_WITH_CAMELLIA_128_CBC_SHA DH_anon_WITH_CAMELLIA_128_CBC_SHA" },
    { 0x0060, "RSA_EXPORT1024_WITH_RC4_56_MD5 RSA_EXPORT1024_WITH_RC2_CBC_56_MD5 RSA_EXPORT1024_WITH_DES_CBC_SHA "
        .. "DHE_DSS_EXPORT1024_WITH_DES_CBC_SHA RSA_EXPORT1024_WITH_RC4_56_SHA DHE_DSS_EXPORT1024_WITH_RC4_56_SHA "
        .. "DHE_DSS_WITH_RC4_128_SHA DHE_RSA_WITH_AES_128_CBC_SHA256 DH_DSS_WITH_AES_256_CBC_SHA256 "
        .. "DH_RSA_WITH_AES_256_CBC_SHA256 DHE_DSS_WITH_AES_256_CBC_SHA256 DHE_RSA_WITH_AES_256_CBC_SHA256 "
        .. "DH_anon_WITH_AES_128_CBC_SHA256 DH_anon_WITH_AES_256_CBC_SHA256" },
    { 0x0080, "GOSTR341094_WITH_28147_CNT_IMIT GOSTR341001_WITH_28147_CNT_IMIT GOSTR341094_WITH_NULL_GOSTR3411 "
        .. "GOSTR341001_WITH_NULL_GOSTR3411 RSA_WITH_CAMELLIA_256_CBC_SHA DH_DSS_WITH_CAMELLIA_256_CBC_SHA "
        .. "DH_RSA_WITH_CAMELLIA_256_CBC_SHA DHE_DSS_WITH_CAMELLIA_256_CBC_SHA DHE_RSA_WITH_CAMELLIA_256_CBC_SHA "
        .. "DH_anon_WITH_CAMELLIA_256_CBC_SHA PSK_WITH_RC4_128_SHA PSK_WITH_3DES_EDE_CBC_SHA "
        .. "PSK_WITH_AES_128_CBC_SHA PSK_WITH_AES_256_CBC_SHA DHE_PSK_WITH_RC4_128_SHA "
        .. "DHE_PSK_WITH_3DES_EDE_CBC_SHA DHE_PSK_WITH_AES_128_CBC_SHA DHE_PSK_WITH_AES_256_CBC_SHA "
        .. "RSA_PSK_WITH_RC4_128_SHA RSA_PSK_WITH_3DES_EDE_CBC_SHA RSA_PSK_WITH_AES_128_CBC_SHA "
        .. "RSA_PSK_WITH_AES_256_CBC_SHA RSA_WITH_SEED_CBC_SHA DH_DSS_WITH_SEED_CBC_SHA DH_RSA_WITH_SEED_CBC_SHA "
        .. "DHE_DSS_WITH_SEED_CBC_SHA DHE_RSA_WITH_SEED_CBC_SHA DH_anon_WITH_SEED_CBC_SHA "
        .. "RSA_WITH_AES_128_GCM_SHA256 RSA_WITH_AES_256_GCM_SHA384 DHE_RSA_WITH_AES_128_GCM_SHA256 "
        .. "DHE_RSA_WITH_AES_256_GCM_SHA384 DH_RSA_WITH_AES_128_GCM_SHA256 DH_RSA_WITH_AES_256_GCM_SHA384 "
        .. "DHE_DSS_WITH_AES_128_GCM_SHA256 DHE_DSS_WITH_AES_256_GCM_SHA384 DH_DSS_WITH_AES_128_GCM_SHA256 "
        .. "DH_DSS_WITH_AES_256_GCM_SHA384 DH_anon_WITH_AES_128_GCM_SHA256 DH_anon_WITH_AES_256_GCM_SHA384 "
        .. "PSK_WITH_AES_128_GCM_SHA256 PSK_WITH_AES_256_GCM_SHA384 DHE_PSK_WITH_AES_128_GCM_SHA256 "
        .. "DHE_PSK_WITH_AES_256_GCM_SHA384 RSA_PSK_WITH_AES_128_GCM_SHA256 RSA_PSK_WITH_AES_256_GCM_SHA384 "
        .. "PSK_WITH_AES_128_CBC_SHA256 PSK_WITH_AES_256_CBC_SHA384 PSK_WITH_NULL_SHA256 PSK_WITH_NULL_SHA384 "
        .. "DHE_PSK_WITH_AES_128_CBC_SHA256 DHE_PSK_WITH_AES_256_CBC_SHA384 DHE_PSK_WITH_NULL_SHA256 "
        .. "DHE_PSK_WITH_NULL_SHA384 RSA_PSK_WITH_AES_128_CBC_SHA256 RSA_PSK_WITH_AES_256_CBC_SHA384 "
        .. "RSA_PSK_WITH_NULL_SHA256 RSA_PSK_WITH_NULL_SHA384 RSA_WITH_CAMELLIA_128_CBC_SHA256 "
        .. "DH_DSS_WITH_CAMELLIA_128_CBC_SHA256 DH_RSA_WITH_CAMELLIA_128_CBC_SHA256 "
        .. "DHE_DSS_WITH_CAMELLIA_128_CBC_SHA256 DHE_RSA_WITH_CAMELLIA_128_CBC_SHA256 "
        .. "DH_anon_WITH_CAMELLIA_128_CBC_SHA256 RSA_WITH_CAMELLIA_256_CBC_SHA256 "
        .. "DH_DSS_WITH_CAMELLIA_256_CBC_SHA256 DH_RSA_WITH_CAMELLIA_256_CBC_SHA256 "
        .. "DHE_DSS_WITH_CAMELLIA_256_CBC_SHA256 DHE_RSA_WITH_CAMELLIA_256_CBC_SHA256 "
        .. "DH_anon_WITH_CAMELLIA_256_CBC_SHA256 SM4_GCM_SM3 SM4_CCM_SM3" },
    { 0x00ff, "EMPTY_RENEGOTIATION_INFO_SCSV" },
    { 0x1301, "AES_128_GCM_SHA256 AES_256_GCM_SHA384 CHACHA20_POLY1305_SHA256 AES_128_CCM_SHA256 "
        .. "AES_128_CCM_8_SHA256" },
    { 0x5600, "FALLBACK_SCSV" },
    { 0xc001, "ECDH_ECDSA_WITH_NULL_SHA ECDH_ECDSA_WITH_RC4_128_SHA ECDH_ECDSA_WITH_3DES_EDE_CBC_SHA "
        .. "ECDH_ECDSA_WITH_AES_128_CBC_SHA ECDH_ECDSA_WITH_AES_256_CBC_SHA ECDHE_ECDSA_WITH_NULL_SHA "
        .. "ECDHE_ECDSA_WITH_RC4_128_SHA ECDHE_ECDSA_WITH_3DES_EDE_CBC_SHA ECDHE_ECDSA_WITH_AES_128_CBC_SHA "
        .. "ECDHE_ECDSA_WITH_AES_256_CBC_SHA ECDH_RSA_WITH_NULL_SHA ECDH_RSA_WITH_RC4_128_SHA "
        .. "ECDH_RSA_WITH_3DES_EDE_CBC_SHA ECDH_RSA_WITH_AES_128_CBC_SHA ECDH_RSA_WITH_AES_256_CBC_SHA "
        .. "ECDHE_RSA_WITH_NULL_SHA ECDHE_RSA_WITH_RC4_128_SHA ECDHE_RSA_WITH_3DES_EDE_CBC_SHA "
        .. "ECDHE_RSA_WITH_AES_128_CBC_SHA ECDHE_RSA_WITH_AES_256_CBC_SHA ECDH_anon_WITH_NULL_SHA "
        .. "ECDH_anon_WITH_RC4_128_SHA ECDH_anon_WITH_3DES_EDE_CBC_SHA ECDH_anon_WITH_AES_128_CBC_SHA "
        .. "ECDH_anon_WITH_AES_256_CBC_SHA SRP_SHA_WITH_3DES_EDE_CBC_SHA SRP_SHA_RSA_WITH_3DES_EDE_CBC_SHA "
        .. "SRP_SHA_DSS_WITH_3DES_EDE_CBC_SHA SRP_SHA_WITH_AES_128_CBC_SHA SRP_SHA_RSA_WITH_AES_128_CBC_SHA "
        .. "SRP_SHA_DSS_WITH_AES_128_CBC_SHA SRP_SHA_WITH_AES_256_CBC_SHA SRP_SHA_RSA_WITH_AES_256_CBC_SHA "
        .. "SRP_SHA_DSS_WITH_AES_256_CBC_SHA ECDHE_ECDSA_WITH_AES_128_CBC_SHA256 "
        .. "ECDHE_ECDSA_WITH_AES_256_CBC_SHA384 ECDH_ECDSA_WITH_AES_128_CBC_SHA256 "
        .. "ECDH_ECDSA_WITH_AES_256_CBC_SHA384 ECDHE_RSA_WITH_AES_128_CBC_SHA256 ECDHE_RSA_WITH_AES_256_CBC_SHA384 "
        .. "ECDH_RSA_WITH_AES_128_CBC_SHA256 ECDH_RSA_WITH_AES_256_CBC_SHA384 ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 "
        .. "ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 ECDH_ECDSA_WITH_AES_128_GCM_SHA256 "
        .. "ECDH_ECDSA_WITH_AES_256_GCM_SHA384 ECDHE_RSA_WITH_AES_128_GCM_SHA256 ECDHE_RSA_WITH_AES_256_GCM_SHA384 "
        .. "ECDH_RSA_WITH_AES_128_GCM_SHA256 ECDH_RSA_WITH_AES_256_GCM_SHA384 ECDHE_PSK_WITH_RC4_128_SHA "
        .. "ECDHE_PSK_WITH_3DES_EDE_CBC_SHA ECDHE_PSK_WITH_AES_128_CBC_SHA ECDHE_PSK_WITH_AES_256_CBC_SHA "
        .. "ECDHE_PSK_WITH_AES_128_CBC_SHA256 ECDHE_PSK_WITH_AES_256_CBC_SHA384 ECDHE_PSK_WITH_NULL_SHA "
        .. "ECDHE_PSK_WITH_NULL_SHA256 ECDHE_PSK_WITH_NULL_SHA384 RSA_WITH_ARIA_128_CBC_SHA256 "
        .. "RSA_WITH_ARIA_256_CBC_SHA384 DH_DSS_WITH_ARIA_128_CBC_SHA256 DH_DSS_WITH_ARIA_256_CBC_SHA384 "
        .. "DH_RSA_WITH_ARIA_128_CBC_SHA256 DH_RSA_WITH_ARIA_256_CBC_SHA384 DHE_DSS_WITH_ARIA_128_CBC_SHA256 "
        .. "DHE_DSS_WITH_ARIA_256_CBC_SHA384 DHE_RSA_WITH_ARIA_128_CBC_SHA256 DHE_RSA_WITH_ARIA_256_CBC_SHA384 "
        .. "DH_anon_WITH_ARIA_128_CBC_SHA256 DH_anon_WITH_ARIA_256_CBC_SHA384 ECDHE_ECDSA_WITH_ARIA_128_CBC_SHA256 "
        .. "ECDHE_ECDSA_WITH_ARIA_256_CBC_SHA384 ECDH_ECDSA_WITH_ARIA_128_CBC_SHA256 "
        .. "ECDH_ECDSA_WITH_ARIA_256_CBC_SHA384 ECDHE_RSA_WITH_ARIA_128_CBC_SHA256 "
        .. "ECDHE_RSA_WITH_ARIA_256_CBC_SHA384 ECDH_RSA_WITH_ARIA_128_CBC_SHA256 ECDH_RSA_WITH_ARIA_256_CBC_SHA384 "
        .. "RSA_WITH_ARIA_128_GCM_SHA256 RSA_WITH_ARIA_256_GCM_SHA384 DHE_RSA_WITH_ARIA_128_GCM_SHA256 "
        .. "DHE_RSA_WITH_ARIA_256_GCM_SHA384 DH_RSA_WITH_ARIA_128_GCM_SHA256 DH_RSA_WITH_ARIA_256_GCM_SHA384 "
        .. "DHE_DSS_WITH_ARIA_128_GCM_SHA256 DHE_DSS_WITH_ARIA_256_GCM_SHA384 DH_DSS_WITH_ARIA_128_GCM_SHA256 "
        .. "DH_DSS_WITH_ARIA_256_GCM_SHA384 DH_anon_WITH_ARIA_128_GCM_SHA256 DH_anon_WITH_ARIA_256_GCM_SHA384 "
        .. "ECDHE_ECDSA_WITH_ARIA_128_GCM_SHA256 ECDHE_ECDSA_WITH_ARIA_256_GCM_SHA384 "
        .. "ECDH_ECDSA_WITH_ARIA_128_GCM_SHA256 ECDH_ECDSA_WITH_ARIA_256_GCM_SHA384 "
        .. "ECDHE_RSA_WITH_ARIA_128_GCM_SHA256 ECDHE_RSA_WITH_ARIA_256_GCM_SHA384 "
        .. "ECDH_RSA_WITH_ARIA_128_GCM_SHA256 ECDH_RSA_WITH_ARIA_256_GCM_SHA384 PSK_WITH_ARIA_128_CBC_SHA256 "
        .. "PSK_WITH_ARIA_256_CBC_SHA384 DHE_PSK_WITH_ARIA_128_CBC_SHA256 DHE_PSK_WITH_ARIA_256_CBC_SHA384 "
        .. "RSA_PSK_WITH_ARIA_128_CBC_SHA256 RSA_PSK_WITH_ARIA_256_CBC_SHA384 PSK_WITH_ARIA_128_GCM_SHA256 "
        .. "PSK_WITH_ARIA_256_GCM_SHA384 DHE_PSK_WITH_ARIA_128_GCM_SHA256 DHE_PSK_WITH_ARIA_256_GCM_SHA384 "
        .. "RSA_PSK_WITH_ARIA_128_GCM_SHA256 RSA_PSK_WITH_ARIA_256_GCM_SHA384 ECDHE_PSK_WITH_ARIA_128_CBC_SHA256 "
        .. "ECDHE_PSK_WITH_ARIA_256_CBC_SHA384 ECDHE_ECDSA_WITH_CAMELLIA_128_CBC_SHA256 "
        .. "ECDHE_ECDSA_WITH_CAMELLIA_256_CBC_SHA384 ECDH_ECDSA_WITH_CAMELLIA_128_CBC_SHA256 "
        .. "ECDH_ECDSA_WITH_CAMELLIA_256_CBC_SHA384 ECDHE_RSA_WITH_CAMELLIA_128_CBC_SHA256 "
        .. "ECDHE_RSA_WITH_CAMELLIA_256_CBC_SHA384 ECDH_RSA_WITH_CAMELLIA_128_CBC_SHA256 "
        .. "ECDH_RSA_WITH_CAMELLIA_256_CBC_SHA384 RSA_WITH_CAMELLIA_128_GCM_SHA256 "
        .. "RSA_WITH_CAMELLIA_256_GCM_SHA384 DHE_RSA_WITH_CAMELLIA_128_GCM_SHA256 "
        .. "DHE_RSA_WITH_CAMELLIA_256_GCM_SHA384 DH_RSA_WITH_CAMELLIA_128_GCM_SHA256 "
        .. "DH_RSA_WITH_CAMELLIA_256_GCM_SHA384 DHE_DSS_WITH_CAMELLIA_128_GCM_SHA256 "
        .. "DHE_DSS_WITH_CAMELLIA_256_GCM_SHA384 DH_DSS_WITH_CAMELLIA_128_GCM_SHA256 "
        .. "DH_DSS_WITH_CAMELLIA_256_GCM_SHA384 DH_anon_WITH_CAMELLIA_128_GCM_SHA256 "
        .. "DH_anon_WITH_CAMELLIA_256_GCM_SHA384 ECDHE_ECDSA_WITH_CAMELLIA_128_GCM_SHA256 "
        .. "ECDHE_ECDSA_WITH_CAMELLIA_256_GCM_SHA384 ECDH_ECDSA_WITH_CAMELLIA_128_GCM_SHA256 "
        .. "ECDH_ECDSA_WITH_CAMELLIA_256_GCM_SHA384 ECDHE_RSA_WITH_CAMELLIA_128_GCM_SHA256 "
        .. "ECDHE_RSA_WITH_CAMELLIA_256_GCM_SHA384 ECDH_RSA_WITH_CAMELLIA_128_GCM_SHA256 "
        .. "ECDH_RSA_WITH_CAMELLIA_256_GCM_SHA384 PSK_WITH_CAMELLIA_128_GCM_SHA256 "
        .. "PSK_WITH_CAMELLIA_256_GCM_SHA384 DHE_PSK_WITH_CAMELLIA_128_GCM_SHA256 "
        .. "DHE_PSK_WITH_CAMELLIA_256_GCM_SHA384 RSA_PSK_WITH_CAMELLIA_128_GCM_SHA256 "
        .. "RSA_PSK_WITH_CAMELLIA_256_GCM_SHA384 PSK_WITH_CAMELLIA_128_CBC_SHA256 PSK_WITH_CAMELLIA_256_CBC_SHA384 "
        .. "DHE_PSK_WITH_CAMELLIA_128_CBC_SHA256 DHE_PSK_WITH_CAMELLIA_256_CBC_SHA384 "
        .. "RSA_PSK_WITH_CAMELLIA_128_CBC_SHA256 RSA_PSK_WITH_CAMELLIA_256_CBC_SHA384 "
        .. "ECDHE_PSK_WITH_CAMELLIA_128_CBC_SHA256 ECDHE_PSK_WITH_CAMELLIA_256_CBC_SHA384 RSA_WITH_AES_128_CCM "
        .. "RSA_WITH_AES_256_CCM DHE_RSA_WITH_AES_128_CCM DHE_RSA_WITH_AES_256_CCM RSA_WITH_AES_128_CCM_8 "
        .. "RSA_WITH_AES_256_CCM_8 DHE_RSA_WITH_AES_128_CCM_8 DHE_RSA_WITH_AES_256_CCM_8 PSK_WITH_AES_128_CCM "
        .. "PSK_WITH_AES_256_CCM DHE_PSK_WITH_AES_128_CCM DHE_PSK_WITH_AES_256_CCM PSK_WITH_AES_128_CCM_8 "
        .. "PSK_WITH_AES_256_CCM_8 PSK_DHE_WITH_AES_128_CCM_8 PSK_DHE_WITH_AES_256_CCM_8 "
        .. "ECDHE_ECDSA_WITH_AES_128_CCM ECDHE_ECDSA_WITH_AES_256_CCM ECDHE_ECDSA_WITH_AES_128_CCM_8 "
        .. "ECDHE_ECDSA_WITH_AES_256_CCM_8 ECCPWD_WITH_AES_128_GCM_SHA256 ECCPWD_WITH_AES_256_GCM_SHA384 "
        .. "ECCPWD_WITH_AES_128_CCM_SHA256 ECCPWD_WITH_AES_256_CCM_SHA384 SHA256_SHA256 SHA384_SHA384" },
    { 0xc0ff, "ECJPAKE_WITH_AES_128_CCM_8 GOSTR341112_256_WITH_KUZNYECHIK_CTR_OMAC "
        .. "GOSTR341112_256_WITH_MAGMA_CTR_OMAC GOSTR341112_256_WITH_28147_CNT_IMIT "
        .. "GOSTR341112_256_WITH_KUZNYECHIK_MGM_L GOSTR341112_256_WITH_MAGMA_MGM_L "
        .. "GOSTR341112_256_WITH_KUZNYECHIK_MGM_S GOSTR341112_256_WITH_MAGMA_MGM_S" },
    { 0xcc13, "ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 "
        .. "DHE_RSA_WITH_CHACHA20_POLY1305_SHA256" },
    { 0xcca8, "ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 "
        .. "DHE_RSA_WITH_CHACHA20_POLY1305_SHA256 PSK_WITH_CHACHA20_POLY1305_SHA256 "
        .. "ECDHE_PSK_WITH_CHACHA20_POLY1305_SHA256 DHE_PSK_WITH_CHACHA20_POLY1305_SHA256 "
        .. "RSA_PSK_WITH_CHACHA20_POLY1305_SHA256" },
    { 0xd001, "ECDHE_PSK_WITH_AES_128_GCM_SHA256 ECDHE_PSK_WITH_AES_256_GCM_SHA384 "
        .. "ECDHE_PSK_WITH_AES_128_CCM_8_SHA256" },
    { 0xd005, "ECDHE_PSK_WITH_AES_128_CCM_SHA256" },
}
local suites = {}
for _, run in ipairs(suite_runs) do
    local number = run[1]
    for name in run[2]:gmatch "%S+" do
        suites[number] = "TLS_" .. name
        number = number + 1
    end
end

local groups = {
    "sect163k1", "sect163r1", "sect163r2", "sect193r1", "sect193r2", "sect233k1", "sect233r1", "sect239k1", "sect283k1",
    "sect283r1", "sect409k1", "sect409r1", "sect571k1", "sect571r1", "secp160k1", "secp160r1", "secp160r2", "secp192k1",
    "secp192r1", "secp224k1", "secp224r1", "secp256k1", "secp256r1", "secp384r1", "secp521r1", "brainpoolP256r1",
    "brainpoolP384r1", "brainpoolP512r1", "x25519", "x448", "brainpoolP256r1tls13", "brainpoolP384r1tls13",
    "brainpoolP512r1tls13", [0x29] = "curveSM2", [0x100] = "ffdhe2048", [0x101] = "ffdhe3072", [0x102] = "ffdhe4096",
    [0x103] = "ffdhe6144", [0x104] = "ffdhe8192", [0x11eb] = "SecP256r1MLKEM768", [0x11ec] = "X25519MLKEM768",
    [0x11ed] = "SecP384r1MLKEM1024", [0x6399] = "X25519Kyber768Draft00",
    [0xff01] = "arbitrary_explicit_prime_curves", [0xff02] = "arbitrary_explicit_char2_curves",
}
local signatures = {
    [0x0201] = "rsa_pkcs1_sha1", [0x0203] = "ecdsa_sha1", [0x0401] = "rsa_pkcs1_sha256",
    [0x0403] = "ecdsa_secp256r1_sha256", [0x0501] = "rsa_pkcs1_sha384", [0x0503] = "ecdsa_secp384r1_sha384",
    [0x0601] = "rsa_pkcs1_sha512", [0x0603] = "ecdsa_secp521r1_sha512", [0x0708] = "sm2sig_sm3",
    [0x0804] = "rsa_pss_rsae_sha256", [0x0805] = "rsa_pss_rsae_sha384", [0x0806] = "rsa_pss_rsae_sha512",
    [0x0807] = "ed25519", [0x0808] = "ed448", [0x0809] = "rsa_pss_pss_sha256", [0x080a] = "rsa_pss_pss_sha384",
    [0x080b] = "rsa_pss_pss_sha512",
}
local extensions = {
    [0] = "server_name", "max_fragment_length", "client_certificate_url", "trusted_ca_keys", "truncated_hmac",
    "status_request", "user_mapping", "client_authz", "server_authz", "cert_type", "supported_groups",
    "ec_point_formats", "srp", "signature_algorithms", "use_srtp", "heartbeat",
    "application_layer_protocol_negotiation", "status_request_v2", "signed_certificate_timestamp",
    "client_certificate_type", "server_certificate_type", "padding", "encrypt_then_mac", "extended_master_secret",
    "token_binding", "cached_info", "tls_lts", "compress_certificate", "record_size_limit", [34] =
    "delegated_credentials", [35] = "session_ticket", [41] = "pre_shared_key", [42] = "early_data",
    [43] = "supported_versions", [44] = "cookie", [45] = "psk_key_exchange_modes", [47] = "certificate_authorities",
    [48] = "oid_filters", [49] = "post_handshake_auth", [50] = "signature_algorithms_cert", [51] = "key_share",
    [52] = "transparency_info", [53] = "connection_id (deprecated)", [54] = "connection_id", [55] = "external_id_hash",
    [56] = "external_session_id", [57] = "quic_transport_parameters", [58] = "ticket_request", [59] = "dnssec_chain",
    [13172] = "next_protocol_negotiation", [17513] = "application_settings", [30031] = "channel_id_old",
    [30032] = "channel_id", [65037] = "encrypted_client_hello", [65281] = "renegotiation_info",
    [65486] = "encrypted_server_name",
}
for i = 0, 15 do -- RFC 8701
    local grease = 0x0a0a + 0x1010 * i
    for _, list in ipairs { versions, suites, groups, extensions } do
        list[grease] = "Reserved (GREASE)"
    end
end

local months = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" }
local function moment(milliseconds)
    if milliseconds < 0 or milliseconds > 253402300799999 then -- until the year 9999
        return nil
    end
    local t = os.date("!*t", milliseconds // 1000)
    return ("%s %2d, %d %02d:%02d:%02d.%03d000000 UTC"):format(months[t.month], t.day, t.year, t.hour, t.min, t.sec,
        milliseconds % 1000)
end

-- ---------------------------------------------------------------- fingerprints

local function is_grease(number)
    return number & 0x0f0f == 0x0a0a and number >> 8 == number & 0xff
end

-- The numbers of `width` bytes in a vector, without GREASE, as text.
local function numbers(vector, width)
    local list = {}
    for at = 1, #vector - width + 1, width do
        local number = (">I" .. width):unpack(vector, at)
        if width == 1 or not is_grease(number) then
            list[#list + 1] = number
        end
    end
    return table.concat(list, "-")
end

-- What JA3 and JA3S are made of: the text of a hello whose body begins at `at`. Raises where the hello is cut.
local function hello_text(layer, at, client)
    local stop = at + (">I3"):unpack(layer, at - 3)
    local curves, formats, types, suite_list, version = "", "", {}
    version, at = (">I2"):unpack(layer, at)
    at = select(2, (">s1"):unpack(layer, at + 32)) -- the random, the session's ID
    if client then
        suite_list, at = (">s2"):unpack(layer, at)
        at = select(2, (">s1"):unpack(layer, at)) -- compression methods
    else
        suite_list, at = ("c2"):unpack(layer, at)
        at = at + 1
    end
    if at < stop then
        local list, from = (">s2"):unpack(layer, at), 1
        while from <= #list do
            local kind, data
            kind, data, from = (">I2s2"):unpack(list, from)
            if not is_grease(kind) then
                types[#types + 1] = kind
            end
            if kind == 10 and #data >= 2 then
                curves = numbers(data:sub(3), 2)
            elseif kind == 11 and #data >= 1 then
                formats = numbers(data:sub(2), 1)
            end
        end
    end
    local text = ("%d,%s,%s"):format(version, numbers(suite_list, 2), table.concat(types, "-"))
    return client and text .. "," .. curves .. "," .. formats or text
end

local sines, shifts = {}, { { 7, 12, 17, 22 }, { 5, 9, 14, 20 }, { 4, 11, 16, 23 }, { 6, 10, 15, 21 } }
for i = 1, 64 do
    sines[i] = math.floor(math.abs(math.sin(i)) * 0x100000000)
end

--- MD5, RFC 1321, in hex.
local function md5(text)
    local whole = text .. "\x80" .. ("\0"):rep(-(#text + 9) % 64) .. ("<I8"):pack(#text * 8)
    local a0, b0, c0, d0 = 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476
    for at = 1, #whole, 64 do
        local words = { (("<I4"):rep(16)):unpack(whole, at) }
        local a, b, c, d = a0, b0, c0, d0
        for i = 0, 63 do
            local round = i // 16 + 1
            local f, g
            if round == 1 then
                f, g = b & c | ~b & d, i
            elseif round == 2 then
                f, g = d & b | ~d & c, (5 * i + 1) % 16
            elseif round == 3 then
                f, g = b ~ c ~ d, (3 * i + 5) % 16
            else
                f, g = c ~ (b | ~d & 0xffffffff), 7 * i % 16
            end
            local sum = (a + f + sines[i + 1] + words[g + 1]) & 0xffffffff
            local shift = shifts[round][i % 4 + 1]
            a, d, c, b = d, c, b, (b + (sum << shift | sum >> (32 - shift))) & 0xffffffff
        end
        a0, b0, c0, d0 = (a0 + a) & 0xffffffff, (b0 + b) & 0xffffffff, (c0 + c) & 0xffffffff, (d0 + d) & 0xffffffff
    end
    return (("<I4I4I4I4"):pack(a0, b0, c0, d0):gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local function fingerprint(client, digest)
    return function(_, layer, at)
        local ok, text = pcall(hello_text, layer, at, client)
        return ok and (digest and md5(text) or text) or nil
    end
end

-- ---------------------------------------------------------------- items

-- A vector of numbers: its length in bytes, then they.
local function vector(length, bits, title, list, item)
    return { { length, bits, title }, { size = length, { loop = true, list = list, item } } }
end

local version = { "handshake.version", 16, "Version", base = "hex", values = versions, default = 0x0303 }
local ciphersuite = { "handshake.ciphersuite", 16, "Cipher Suite", base = "hex", values = suites, default = 0x1301 }
local comp_method = { "handshake.comp_method", 8, "Compression Method", values = {
    [0] = "null", [1] = "DEFLATE", [64] = "LZS",
} }
local signature_algorithm = {
    "handshake.sig_hash_alg", 16, "Signature Algorithm", base = "hex", values = signatures, sub = {
        { "handshake.sig_hash_hash", 8, "Signature Hash Algorithm Hash", values = {
            [0] = "None", "MD5", "SHA1", "SHA224", "SHA256", "SHA384", "SHA512", "SM3",
        } },
        { "handshake.sig_hash_sig", 8, "Signature Hash Algorithm Signature", values = {
            [0] = "Anonymous", "RSA", "DSA", "ECDSA", "SM2",
        } },
    },
}
local signature_algorithms = vector("handshake.sig_hash_alg_len", 16, "Signature Hash Algorithms Length", "algorithms",
    signature_algorithm)
local supported_version = { "handshake.extensions.supported_version", 16, "Supported Version", base = "hex",
    values = versions }
local status_request = {
    { "handshake.extensions_status_request_responder_ids_len", 16, "Responder ID list Length" },
    { "_responder_ids", "bytes", size = "handshake.extensions_status_request_responder_ids_len" },
    { "handshake.extensions_status_request_exts_len", 16, "Request Extensions Length" },
    { "_request_extensions", "bytes", size = "handshake.extensions_status_request_exts_len" },
}
local status_type = { "handshake.extensions_status_request_type", 8, "Certificate Status Type", values = {
    "OCSP", "OCSP Multi",
} }
local cert_type = { "handshake.cert_type.type", 8, "Certificate Type", base = "hex", values = {
    [0] = "X.509", [1] = "OpenPGP", [2] = "Raw Public Key",
} }
local cert_types = {
    { when = "handshake.type == 1",
        vector("handshake.cert_type.types_len", 8, "Certificate Type List Length", "types", cert_type) },
    { when = "handshake.type != 1", cert_type },
}
local share = {
    { "handshake.extensions_key_share_group", 16, "Group", values = groups },
    { "handshake.extensions_key_share_key_exchange_length", 16, "Key Exchange Length" },
    { "handshake.extensions_key_share_key_exchange", "bytes", "Key Exchange",
        size = "handshake.extensions_key_share_key_exchange_length" },
}
local key_share = {
    { when = "handshake.type == 1",
        vector("handshake.extensions_key_share_client_length", 16, "Client Key Share Length", "shares", share) },
    { when = "handshake.type != 1 && handshake.extension.len != 2", share },
    { when = "handshake.type != 1 && handshake.extension.len == 2",
        { "handshake.extensions_key_share_selected_group", 16, "Selected Group", values = groups } },
}
local connection_id = {
    { "connection_id_length", 8, "Connection ID length" },
    { "connection_id", "bytes", "Connection ID", size = "connection_id_length" },
}
local opaque = { { "handshake.extension.data", "bytes", "Data" } }

local extension = {
    { "handshake.extension.type", 16, "Type", values = extensions },
    { "handshake.extension.len", 16, "Length" },
    { switch = "handshake.extension.type", size = "handshake.extension.len", cases = {
        [0] = {
            { when = "handshake.extension.len > 0",
                { "handshake.extensions_server_name_list_len", 16, "Server Name list length" },
                { size = "handshake.extensions_server_name_list_len",
                    { loop = true, list = "names",
                        { "handshake.extensions_server_name_type", 8, "Server Name Type", values = {
                            [0] = "host_name",
                        } },
                        { "handshake.extensions_server_name_len", 16, "Server Name length" },
                        { "handshake.extensions_server_name", "string", "Server Name",
                            size = "handshake.extensions_server_name_len" },
                    },
                },
            },
        },
        [1] = { { "handshake.max_fragment_length", 8, "Maximum Fragment Length", values = {
            "512", "1024", "2048", "4096",
        } } },
        [5] = { { when = "handshake.type == 1", status_type, status_request } },
        [9] = cert_types, [19] = cert_types, [20] = cert_types,
        [10] = vector("handshake.extensions_supported_groups_length", 16, "Supported Groups List Length", "groups",
            { "handshake.extensions_supported_group", 16, "Supported Group", base = "hex", values = groups }),
        [11] = vector("handshake.extensions_ec_point_formats_length", 8, "EC point formats Length", "formats",
            { "handshake.extensions_ec_point_format", 8, "EC point format", values = {
                [0] = "uncompressed", "ansiX962_compressed_prime", "ansiX962_compressed_char2",
            } }),
        [12] = {
            { "handshake.extensions_srp_len", 8, "SRP username length" },
            { "handshake.extensions_srp_username", "string", "SRP username", size = "handshake.extensions_srp_len" },
        },
        [13] = signature_algorithms, [34] = signature_algorithms, [50] = signature_algorithms,
        [15] = { { "handshake.extension.heartbeat.mode", 8, "Mode", values = {
            "Peer allowed to send requests", "Peer not allowed to send requests",
        } } },
        [16] = vector("handshake.extensions_alpn_len", 16, "ALPN Extension Length", "protocols", {
            { "handshake.extensions_alpn_str_len", 8, "ALPN string length" },
            { "handshake.extensions_alpn_str", "string", "ALPN Next Protocol",
                size = "handshake.extensions_alpn_str_len" },
        }),
        [17] = { { when = "handshake.type == 1",
            vector("handshake.extensions_status_request_list_len", 16, "Certificate Status List Length", "requests", {
                status_type,
                { "handshake.extensions_status_request_len", 16, "Certificate Status Length" },
                status_request,
            }),
        } },
        [18] = { { when = "handshake.extension.len > 0",
            vector("sct.scts_length", 16, "Serialized SCT List Length", "scts", {
                { "sct.sct_length", 16, "Serialized SCT Length" },
                { size = "sct.sct_length",
                    { "sct.sct_version", 8, "SCT Version", values = { [0] = "Version 1" } },
                    { "sct.sct_logid", "bytes", "Log ID", size = 32 },
                    { "sct.sct_timestamp", "bytes", "Timestamp", size = 8,
                        value = function(bytes) return moment((">i8"):unpack(bytes)) end },
                    { "sct.sct_extensions_length", 16, "Extensions length" },
                    { "_sct_extensions", "bytes", size = "sct.sct_extensions_length" },
                    signature_algorithm,
                    { "sct.sct_signature_length", 16, "Signature Length" },
                    { "sct.sct_signature", "bytes", "Signature", size = "sct.sct_signature_length" },
                },
            }),
        } },
        [21] = { { "handshake.extensions_padding_data", "bytes", "Padding Data" } },
        [14] = { { "_srtp", "bytes" } }, [57] = { { "_transport_parameters", "bytes" } },
        [22] = {}, [23] = {}, [42] = {}, [49] = {},
        [27] = vector("compress_certificate.algorithms_length", 8, "Algorithms Length", "algorithms",
            { "compress_certificate.algorithm", 16, "Algorithm", values = { "zlib", "brotli", "zstd" } }),
        [28] = { { "record_size_limit", 16, "Record Size Limit" } },
        [40] = key_share, [51] = key_share,
        [41] = {
            { when = "handshake.type == 1",
                vector("handshake.extensions.psk.identities.length", 16, "Identities Length", "identities", {
                    { "handshake.extensions.psk.identity.identity_length", 16, "Identity Length" },
                    { "handshake.extensions.psk.identity.identity", "bytes", "Identity",
                        size = "handshake.extensions.psk.identity.identity_length" },
                    { "handshake.extensions.psk.identity.obfuscated_ticket_age", 32, "Obfuscated Ticket Age" },
                }),
                { "handshake.extensions.psk.binders_len", 16, "PSK Binders length" },
                { "_binders", "bytes", size = "handshake.extensions.psk.binders_len" },
            },
            { when = "handshake.type != 1",
                { "handshake.extensions.psk.identity.selected", 16, "Selected Identity" } },
        },
        [43] = {
            { when = "handshake.type == 1",
                vector("handshake.extensions.supported_versions_len", 8, "Supported Versions length", "versions",
                    supported_version) },
            { when = "handshake.type != 1", supported_version },
        },
        [44] = {
            { "handshake.extensions.cookie_len", 16, "Cookie length" },
            { "handshake.extensions.cookie", "bytes", "Cookie", size = "handshake.extensions.cookie_len" },
        },
        [45] = vector("extension.psk_ke_modes_length", 8, "PSK Key Exchange Modes Length", "modes",
            { "extension.psk_ke_mode", 8, "PSK Key Exchange Mode", values = {
                [0] = "PSK-only key establishment (psk_ke)", "PSK with (EC)DHE key establishment (psk_dhe_ke)",
            } }),
        [53] = connection_id, [54] = connection_id,
        [13172] = {
            { loop = true, list = "protocols",
                { "handshake.extensions_npn_str_len", 8, "Protocol string length" },
                { "handshake.extensions_npn", "string", "Next Protocol", size = "handshake.extensions_npn_str_len" },
            },
        },
        [17513] = vector("handshake.extensions_alps_len", 16, "ALPS Extension Length", "protocols", {
            { "handshake.extensions_alps_alpn_str_len", 8, "Supported ALPN Length" },
            { "handshake.extensions_alps_alpn_str", "string", "Supported ALPN",
                size = "handshake.extensions_alps_alpn_str_len" },
        }),
        [65281] = {
            { "handshake.extensions_reneg_info_len", 8, "Renegotiation info extension length" },
            { "handshake.extensions_reneg_info", "bytes", "Renegotiation info",
                size = "handshake.extensions_reneg_info_len", when = "handshake.extensions_reneg_info_len > 0" },
        },
    }, default = opaque },
}

local session_id = {
    { "handshake.session_id_length", 8, "Session ID Length" },
    { "handshake.session_id", "bytes", "Session ID", size = "handshake.session_id_length",
        when = "handshake.session_id_length > 0" },
}
local hello_extensions = { when = "$rest > 0",
    { "handshake.extensions_length", 16, "Extensions Length" },
    { size = "handshake.extensions_length", { loop = true, list = "extensions", { call = "extension" } } },
}

-- A server's hello is TLS 1.3's when one of its first three extensions (it has no more) is supported_versions. Offsets
-- are from its random; an extension that isn't there fails the expression, which leaves the 0 from before.
local first = "38 + $at8(32)"
local second = ("(%s + 4 + $at16(%s + 2))"):format(first, first)
local third = ("(%s + 4 + $at16(%s + 2))"):format(second, second)
local is_13 = {}
for i, at in ipairs { first, second, third } do
    is_13[i] = ("(%s + 2 < handshake.length && $at16(%s) == 43)"):format(at, at)
end

-- Cut short or not, it looks like a message: a type, a length of less than 128 KB, and HelloRequest is empty. After a
-- ChangeCipherSpec only a whole hello is one.
local clear = "$at8(0) < 26 && (1 << $at8(0)) & 0x3f1f93f && $at16(1) < 0x200 && "
    .. "($at8(0) != 0 || record.length == 4 && $at32(0) == 0) && "
    .. "(!_changed || ($at8(0) == 1 || $at8(0) == 2) && $at16(4) == 0x303 && $at16(2) + 4 == record.length)"

-- It may be a record: a type, and a version from SSL 3.0 on.
local record = "$at16(3) <= 0x4800 && $at8(0) >= 20 && $at8(0) <= 25 && $at8(1) == 3 && $at8(2) <= 4"

-- What keys a server sends depends on the cipher suite, which may be in another packet: a prime, a generator and a
-- number that fit into the message (RFC 5246), or a named curve and a point (RFC 8422).
local server_signature = { when = "$rest > 0",
    { when = "record.version >= 0x303", signature_algorithm },
    { "handshake.sig_len", 16, "Signature Length" },
    { "handshake.sig", "bytes", "Signature", size = "handshake.sig_len" },
}
local server_key = {
    { "_dhe", value = 0 },
    { "_dhe", value = "$at16(0) > 31 && 6 + $at16(0) + $at16(2 + $at16(0)) + "
        .. "$at16(4 + $at16(0) + $at16(2 + $at16(0))) <= handshake.length" },
    { when = "_dhe",
        { "handshake.p_len", 16, "p Length" },
        { "handshake.p", "bytes", "p", size = "handshake.p_len" },
        { "handshake.g_len", 16, "g Length" },
        { "handshake.g", "bytes", "g", size = "handshake.g_len" },
        { "handshake.ys_len", 16, "Pubkey Length" },
        { "handshake.ys", "bytes", "Pubkey", size = "handshake.ys_len" },
        server_signature,
    },
    { when = "!_dhe && $at8(0) == 3",
        { "handshake.server_curve_type", 8, "Curve Type", base = "hex", values = {
            "explicit_prime", "explicit_char2", "named_curve",
        }, default = 3 },
        { "handshake.server_named_curve", 16, "Named Curve", base = "hex", values = groups },
        { "handshake.server_point_len", 8, "Pubkey Length" },
        { "handshake.server_point", "bytes", "Pubkey", size = "handshake.server_point_len" },
        server_signature,
    },
}

return {
    name = "tls", title = "Transport Layer Security",
    on = { ["tcp.port"] = {
        443, 324, 465, 636, 802, 853, 993, 995, 1300, 2221, 2443, 3249, 3250, 3251, 3252, 3496, 5061, 5671, 5684, 5868,
        8883, 11207, 19999, 27017,
    } },
    guess = { tcp = "($u8(0) == 22 || $u8(0) == 23) && $u16(1) >= 0x300 && $u16(1) <= 0x303 && "
        .. "$u16(3) > 0 && $u16(3) < 0x4800" },
    stream = true,
    line = {
        "TLS",
        { when = "handshake.type", ": {handshake.type*}" },
        { when = "handshake.extensions_server_name_len", ", {handshake.extensions_server_name}" },
    },
    groups = { extension = extension },
    { "_more", value = record },
    { when = "_more",
        { loop = true, list = "records", stop = "!_more",
            { "_opaque", value = "_13 && $at8(0) == 23" },
            { switch = "_opaque", cases = {
                [1] = { { "record.opaque_type", 8, "Opaque Type", values = { [23] = "Application Data" } } },
            }, default = {
                { "record.content_type", 8, "Content Type", values = {
                    [20] = "Change Cipher Spec", [21] = "Alert", [22] = "Handshake", [23] = "Application Data",
                    [24] = "Heartbeat", [25] = "Connection ID",
                }, default = 22 },
            } },
            { "_content_type", value = "$u8($here - 1)" },
            { "record.version", 16, "Version", base = "hex", values = versions, default = 0x0303 },
            { "record.length", 16, "Length" },
            { switch = "_content_type", size = "record.length", cases = {
                [20] = { { "_change_cipher_spec", 8 }, { "_changed", value = 1 } },
                [21] = {
                    { when = "record.length == 2",
                        { "alert_message.level", 8, "Level", values = { "Warning", "Fatal" } },
                        { "alert_message.desc", 8, "Description", values = {
                            [0] = "Close Notify", [1] = "End of Early Data", [10] = "Unexpected Message",
                            [20] = "Bad Record MAC", [21] = "Decryption Failed", [22] = "Record Overflow",
                            [30] = "Decompression Failure", [40] = "Handshake Failure", [41] = "No Certificate",
                            [42] = "Bad Certificate", [43] = "Unsupported Certificate", [44] = "Certificate Revoked",
                            [45] = "Certificate Expired", [46] = "Certificate Unknown", [47] = "Illegal Parameter",
                            [48] = "Unknown CA", [49] = "Access Denied", [50] = "Decode Error",
                            [51] = "Decrypt Error", [60] = "Export Restriction", [70] = "Protocol Version",
                            [71] = "Insufficient Security", [80] = "Internal Error",
                            [86] = "Inappropriate Fallback", [90] = "User Canceled", [100] = "No Renegotiation",
                            [109] = "Missing Extension", [110] = "Unsupported Extension",
                            [111] = "Certificate Unobtainable", [112] = "Unrecognized Name",
                            [113] = "Bad Certificate Status Response", [114] = "Bad Certificate Hash Value",
                            [115] = "Unknown PSK Identity", [116] = "Certificate Required",
                            [120] = "No application Protocol", [121] = "ECH Required",
                        } },
                    },
                },
                [22] = {
                    { "_clear", value = 0 },
                    { "_clear", value = clear },
                    { when = "_clear",
                        { loop = true, list = "messages", stop = "!_clear",
                            { "handshake.type", 8, "Handshake Message Type", values = {
                                [0] = "Hello Request", [1] = "Client Hello", [2] = "Server Hello",
                                [3] = "Hello Verify Request", [4] = "New Session Ticket",
                                [5] = "End of Early Data", [6] = "Hello Retry Request", [8] = "Encrypted Extensions",
                                [11] = "Certificate", [12] = "Server Key Exchange", [13] = "Certificate Request",
                                [14] = "Server Hello Done", [15] = "Certificate Verify",
                                [16] = "Client Key Exchange", [20] = "Finished", [21] = "Client Certificate URL",
                                [22] = "Certificate Status", [23] = "Supplemental Data", [24] = "Key Update",
                                [25] = "Compressed Certificate",
                            }, default = 1 },
                            { "handshake.length", 24, "Length" },
                            { switch = "handshake.type", size = "handshake.length", cases = {
                                [1] = {
                                    { "handshake.ja3_full", "string", "JA3 Fullstring", value = fingerprint(true) },
                                    { "handshake.ja3", "string", "JA3", value = fingerprint(true, true) },
                                    version,
                                    { "handshake.random", "bytes", "Random", size = 32, sub = {
                                        { "handshake.random_time", "time", "GMT Unix Time" },
                                        { "handshake.random_bytes", "bytes", "Random Bytes" },
                                    } },
                                    session_id,
                                    vector("handshake.cipher_suites_length", 16, "Cipher Suites Length",
                                        "cipher_suites", ciphersuite),
                                    vector("handshake.comp_methods_length", 8, "Compression Methods Length",
                                        "compression_methods", comp_method),
                                    hello_extensions,
                                },
                                [2] = {
                                    { "handshake.ja3s_full", "string", "JA3S Fullstring",
                                        value = fingerprint(false) },
                                    { "handshake.ja3s", "string", "JA3S", value = fingerprint(false, true) },
                                    version,
                                    { "_13", value = 0 },
                                    { "_13", value = table.concat(is_13, " || ") },
                                    { "handshake.random", "bytes", "Random", size = 32, sub = {
                                        { when = "!_13",
                                            { "handshake.random_time", "time", "GMT Unix Time" },
                                            { "handshake.random_bytes", "bytes", "Random Bytes" },
                                        },
                                    } },
                                    session_id,
                                    ciphersuite,
                                    comp_method,
                                    hello_extensions,
                                },
                                [4] = {
                                    { "handshake.session_ticket_lifetime_hint", 32, "Session Ticket Lifetime Hint" },
                                    { "handshake.session_ticket_length", 16, "Session Ticket Length" },
                                    { "handshake.session_ticket", "bytes", "Session Ticket",
                                        size = "handshake.session_ticket_length" },
                                },
                                [8] = { hello_extensions },
                                [11] = {
                                    { "handshake.certificates_length", 24, "Certificates Length" },
                                    { size = "handshake.certificates_length",
                                        { loop = true, list = "certificates",
                                            { "handshake.certificate_length", 24, "Certificate Length" },
                                            { "handshake.certificate", "bytes", "Certificate",
                                                size = "handshake.certificate_length" },
                                        },
                                    },
                                },
                                [12] = server_key,
                                [13] = {
                                    vector("handshake.cert_types_count", 8, "Certificate types count", "types",
                                        { "handshake.cert_type", 8, "Certificate Type", values = {
                                            [1] = "RSA Sign", [2] = "DSS Sign", [3] = "RSA Fixed DH",
                                            [4] = "DSS Fixed DH", [64] = "ECDSA Sign", [65] = "RSA Fixed ECDH",
                                            [66] = "ECDSA Fixed ECDH",
                                        } }),
                                    { when = "record.version >= 0x303", signature_algorithms },
                                    vector("handshake.dnames_len", 16, "Distinguished Names Length", "names", {
                                        { "handshake.dname_len", 16, "Distinguished Name Length" },
                                        { "_dname", "bytes", size = "handshake.dname_len" },
                                    }),
                                },
                                [15] = {
                                    { when = "record.version >= 0x303", signature_algorithm },
                                    { "handshake.client_cert_vrfy.sig_len", 16, "Signature length" },
                                    { "handshake.client_cert_vrfy.sig", "bytes", "Signature",
                                        size = "handshake.client_cert_vrfy.sig_len" },
                                },
                                [16] = { { when = "$at8(0) + 1 == handshake.length",
                                    { "handshake.client_point_len", 8, "Pubkey Length" },
                                    { "handshake.client_point", "bytes", "Pubkey",
                                        size = "handshake.client_point_len" },
                                } },
                                [22] = {
                                    status_type,
                                    { "handshake.ocsp_response_len", 24, "OCSP Response Length" },
                                    { "_ocsp_response", "bytes", size = "handshake.ocsp_response_len" },
                                },
                                [24] = { { "handshake.key_update.request_update", 8, "Key Update Request", values = {
                                    [0] = "update_not_requested", "update_requested",
                                } } },
                            } },
                            { "_clear", value = 0 },
                            { "_clear", value = clear },
                        },
                    },
                },
                [23] = { { "app_data", "bytes", "Encrypted Application Data" } },
                [24] = { { when = "$at8(0) == 1 || $at8(0) == 2",
                    { "heartbeat_message.type", 8, "Type", values = { "Request", "Response" } },
                    { "heartbeat_message.payload_length", 16, "Payload Length" },
                    { "heartbeat_message.payload", "bytes", "Payload",
                        size = "heartbeat_message.payload_length < $rest ? heartbeat_message.payload_length : $rest" },
                    { "heartbeat_message.padding", "bytes", "Padding", when = "$rest > 0" },
                } },
            } },
            { "_more", value = 0 },
            { "_more", value = record },
        },
    },
}
