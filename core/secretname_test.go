package core

import (
	"slices"
	"testing"
)

func TestSecretName(t *testing.T) {
	t.Parallel()
	secret := []string{
		"password", "userPassword", "PASSWORD", "user_password", "user-password", "userpassword", "PGPASSWORD", "password2", "new password", "passwordConfirm", "passWord",
		"passwd", "PASSWD", "pwd", "db_pwd", "dbpwd", "pw", "pass", "smtp_pass", "passphrase", "passcode",
		"secret", "secrets", "client-secret", "clientSecret", "clientsecret", "secretKey", "SECRET_KEY", "aws.secret.access.key",
		"token", "accessToken", "access_token", "accesstoken", "refresh-token", "tokens", "TOKEN1", "bearer", "jwt", "github_pat",
		"authorization", "Authorization", "Proxy-Authorization", "auth",
		"apiKey", "api_key", "API-KEY", "APIKey", "apikey", "x-api-key", "apiKeys", "my.api.key", "privateKey", "PRIVATE_KEY", "accessKey", "sshKey", "signing_key",
		"cookie", "Set-Cookie", "cookies", "credential", "credentials", "aws_credentials", "awsCredentials",
		"pin", "cardPin", "PIN", "pin_code", "otp", "otpCode", "totp", "cvv", "cvc", "cardCVC", "securityCode",
		"Passwort", "contraseña", "пароль", "密码",
	}
	open := []string{
		"", "name", "path", "cwd", "key", "keys", "keyboard", "monkey", "primaryKey", "keyword", "hotkey", "turkey",
		"secretary", "secretariat", "tokenize", "tokenizer", "tokenization", "author", "authored", "authors", "authority",
		"auth_method", "authType", "oauth", "authenticated", "passport", "passportNumber", "passage", "passenger", "passive", "bypass_check",
		"pass_rate", "passCount", "compass", "compass_word", "passwordless", "passwordlessLogin", "pinned", "pin_message", "pinCount", "spin", "pint", "opinion",
		"pattern", "patch", "path_pat_x", "rapid_key_ring", "cryptic", "option", "hotpot", "recvd", "cookieless", "spawned", "codec", "code", "security", "zip_code",
	}
	for _, name := range secret {
		if !SecretName(name) {
			t.Errorf("SecretName(%q) is false", name)
		}
	}
	for _, name := range open {
		if SecretName(name) {
			t.Errorf("SecretName(%q) is true", name)
		}
	}
}

func TestNameWords(t *testing.T) {
	t.Parallel()
	want := []string{"user", "api", "key"}
	for _, name := range []string{"userApiKey", "user_api_key", "USER-API-KEY", "userAPIKey", " user.api  key ", "UserApiKey"} {
		if got := NameWords(name); !slices.Equal(got, want) {
			t.Errorf("NameWords(%q) = %q", name, got)
		}
	}
}
